-- What background workers have to do and have done, a unit each, and which of them may
-- work.

CREATE TABLE worker_units (
    id text PRIMARY KEY,
    worker text NOT NULL,
    home text NOT NULL,
    subject text NOT NULL,
    causes bigint NOT NULL,
    trace_id text NOT NULL,
    span_id text NOT NULL,
    queued_at bigint NOT NULL,
    due_at bigint NOT NULL,
    latest_at bigint NOT NULL,
    attempts bigint NOT NULL,
    token bigint NOT NULL,
    holder text,
    leased_until bigint,
    began_at bigint,
    ended_at bigint,
    outcome text CHECK (outcome IN ('done', 'dead')),
    said text
);

-- What nobody has begun takes up further causes of the same.
CREATE UNIQUE INDEX worker_units_open ON worker_units (worker, home, subject)
    WHERE token = 0 AND ended_at IS NULL;
CREATE INDEX worker_units_waiting ON worker_units (worker, due_at)
    WHERE ended_at IS NULL AND leased_until IS NULL;
CREATE INDEX worker_units_leased ON worker_units (worker, leased_until)
    WHERE leased_until IS NOT NULL;
CREATE INDEX worker_units_subjects ON worker_units (worker, home, subject)
    WHERE ended_at IS NULL;
CREATE INDEX worker_units_ended ON worker_units (worker, ended_at);

CREATE TABLE worker_switches (
    node text PRIMARY KEY,
    switch text NOT NULL CHECK (switch IN ('running', 'paused')),
    reason text NOT NULL,
    changed_by text NOT NULL,
    changed_at bigint NOT NULL
);
