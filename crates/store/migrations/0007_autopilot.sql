-- The autopilot: how much it does by itself, the conversations that can be gone
-- on with, what agents used, and what waits for a limit to pass.

CREATE TABLE autopilot (
    id bigint PRIMARY KEY CHECK (id = 1),
    mode text NOT NULL CHECK (mode IN ('running', 'paused', 'draining', 'stopped')),
    reason text NOT NULL,
    changed_by text NOT NULL,
    changed_at bigint NOT NULL
);

INSERT INTO autopilot (id, mode, reason, changed_by, changed_at)
    VALUES (1, 'paused', 'it was not switched on yet', 'missiond', 0);

CREATE TABLE slot_sessions (
    execution text PRIMARY KEY,
    slot_name text NOT NULL,
    engine text NOT NULL,
    task text NOT NULL,
    attempt text NOT NULL,
    cwd text NOT NULL,
    conversation text,
    prompted_at bigint,
    started_at bigint NOT NULL,
    ended_at bigint
);

CREATE INDEX slot_sessions_by_task ON slot_sessions (task, started_at);
CREATE INDEX slot_sessions_by_slot ON slot_sessions (slot_name, started_at);

CREATE TABLE token_usage (
    execution text NOT NULL,
    day bigint NOT NULL,
    task text NOT NULL,
    slot_name text NOT NULL,
    engine text NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (execution, day)
);

CREATE INDEX token_usage_by_day ON token_usage (day, engine);
CREATE INDEX token_usage_by_task ON token_usage (task);

CREATE TABLE parked_tasks (
    task text PRIMARY KEY,
    engine text NOT NULL,
    until bigint NOT NULL,
    resumes bigint NOT NULL,
    reason text NOT NULL,
    parked_at bigint NOT NULL
);

CREATE TABLE attempt_conflicts (
    attempt text PRIMARY KEY,
    conflicts bigint NOT NULL,
    round bigint NOT NULL,
    files text NOT NULL
);
