-- Runs of agents: what a daemon must know of them before it opens a journal.

CREATE TABLE executions (
    id text PRIMARY KEY,
    slot text NOT NULL,
    engine text NOT NULL,
    cwd text NOT NULL,
    conversation text,
    transcript text,
    started_at bigint NOT NULL,
    ended_at bigint
);

CREATE INDEX executions_by_start ON executions (started_at, id);
CREATE INDEX executions_by_slot ON executions (slot);

-- What lets the agent of an execution speak to the daemon. The token itself is
-- in a file of the agent's alone; here is what it hashes to.

CREATE TABLE execution_capabilities (
    token_hash text PRIMARY KEY,
    execution text NOT NULL,
    uid bigint NOT NULL,
    expires_at bigint NOT NULL,
    revoked_at bigint
);

CREATE INDEX execution_capabilities_by_execution ON execution_capabilities (execution);
