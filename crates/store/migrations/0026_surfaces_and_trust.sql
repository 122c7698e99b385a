-- What is on record about tools, servers, engines and skills; how far they are trusted is
-- counted from it. What happens often is counted together for an hour.

CREATE TABLE trust_facts (
    id bigint PRIMARY KEY,
    subject text NOT NULL,
    kind text NOT NULL,
    began_at bigint NOT NULL,
    at bigint NOT NULL,
    count bigint NOT NULL,
    note text
);

CREATE INDEX trust_facts_by_subject ON trust_facts (subject, kind, at);

INSERT INTO attention_numbers (name, next) VALUES ('trust_fact', 1);

-- What a run was started with: its instructions, settings, hooks and program, by a digest,
-- and the text of what is text, without secrets.

CREATE TABLE run_surfaces (
    execution text NOT NULL,
    part text NOT NULL,
    digest text NOT NULL,
    text text,
    PRIMARY KEY (execution, part)
);

-- Where a run was found to differ from it, and what a person decided.

CREATE TABLE run_drifts (
    execution text NOT NULL,
    digest text NOT NULL,
    changes text NOT NULL,
    found_at bigint NOT NULL,
    decision text,
    decided_at bigint,
    PRIMARY KEY (execution, digest)
);
