-- What agents were told beside their first prompt, and what they were not told.

CREATE TABLE prompt_snapshots (
    execution text PRIMARY KEY,
    slot text NOT NULL,
    task text,
    engine text NOT NULL,
    cwd text NOT NULL,
    at bigint NOT NULL,
    budget bigint NOT NULL,
    used bigint NOT NULL,
    masked bigint NOT NULL,
    context text NOT NULL,
    items text NOT NULL,
    sources text NOT NULL
);

CREATE INDEX prompt_snapshots_by_time ON prompt_snapshots (at);
