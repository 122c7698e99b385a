-- What people are asked. A question is open until it has a moment of closing;
-- with an answer it was answered, without one dismissed, for the reason given.
-- It stands as long as what asked it is there: the dialog of a slot until it has
-- left the screen, everything else for ever. What stands is not asked again.

CREATE TABLE agent_questions (
    id text PRIMARY KEY,
    number bigint NOT NULL UNIQUE,
    origin text NOT NULL,
    origin_key text NOT NULL,
    slot text,
    execution text,
    task text,
    question text NOT NULL,
    context text,
    options text NOT NULL,
    blocks bigint NOT NULL,
    stands bigint NOT NULL,
    asked_at bigint NOT NULL,
    giving_at bigint,
    answer text,
    closed_at bigint,
    closed_by text,
    reason text,
    notified_at bigint
);

CREATE UNIQUE INDEX agent_questions_standing ON agent_questions (origin_key)
    WHERE stands = 1;
CREATE INDEX agent_questions_open ON agent_questions (number) WHERE closed_at IS NULL;
CREATE INDEX agent_questions_by_slot ON agent_questions (slot);

-- The next number of each thing people call by a number.

CREATE TABLE attention_numbers (
    name text PRIMARY KEY,
    next bigint NOT NULL
);

INSERT INTO attention_numbers (name, next) VALUES ('question', 1), ('permission_rule', 1);

-- Rules on what agents may do, beside those of the configuration.

CREATE TABLE permission_rules (
    number bigint PRIMARY KEY,
    effect text NOT NULL,
    tool text NOT NULL,
    argument text,
    path text,
    server text,
    scope text NOT NULL,
    expires_at bigint,
    uses_left bigint,
    question text,
    created_by text NOT NULL,
    created_at bigint NOT NULL,
    removed_at bigint
);

-- What was decided about a permission an agent asked for, by whom, and whether
-- its dialog took the answer.

CREATE TABLE permission_decisions (
    id bigint PRIMARY KEY,
    slot text NOT NULL,
    execution text,
    asked text NOT NULL,
    effect text NOT NULL,
    decided_by text NOT NULL,
    reason text NOT NULL,
    decided_at bigint NOT NULL,
    outcome text,
    outcome_at bigint
);

CREATE INDEX permission_decisions_by_slot ON permission_decisions (slot, decided_at);

INSERT INTO attention_numbers (name, next) VALUES ('permission_decision', 1);
