-- The timeline, who reads it and how far, and the life of daemons, slots,
-- tasks and leases. Every column is described in docs/schema.md.

CREATE TABLE timeline_head (
    id bigint PRIMARY KEY CHECK (id = 1),
    seq bigint NOT NULL
);

INSERT INTO timeline_head (id, seq) VALUES (1, 0);

CREATE TABLE system_timeline (
    seq bigint PRIMARY KEY,
    at bigint NOT NULL,
    daemon text NOT NULL,
    trace_id text NOT NULL,
    span_id text NOT NULL,
    parent_span_id text,
    kind text NOT NULL,
    category text NOT NULL,
    payload text NOT NULL
);

CREATE INDEX system_timeline_trace ON system_timeline (trace_id);
CREATE INDEX system_timeline_category ON system_timeline (category, seq);
CREATE INDEX system_timeline_at ON system_timeline (at);

CREATE TABLE watermarks (
    consumer text PRIMARY KEY,
    seq bigint NOT NULL
);

CREATE TABLE daemon_state (
    id text PRIMARY KEY,
    host text NOT NULL,
    pid bigint NOT NULL,
    version text NOT NULL,
    started_at bigint NOT NULL,
    heartbeat_at bigint NOT NULL,
    ended_at bigint,
    ended text CHECK (ended IN ('clean', 'crashed')),
    CHECK ((ended IS NULL) = (ended_at IS NULL))
);

CREATE INDEX daemon_state_open ON daemon_state (host) WHERE ended_at IS NULL;

CREATE TABLE incidents (
    id text PRIMARY KEY,
    kind text NOT NULL,
    subject text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('info', 'warning', 'error', 'critical')),
    summary text NOT NULL,
    occurrences bigint NOT NULL,
    opened_at bigint NOT NULL,
    last_seen_at bigint NOT NULL,
    resolved_at bigint
);

CREATE UNIQUE INDEX incidents_open ON incidents (kind, subject) WHERE resolved_at IS NULL;
CREATE INDEX incidents_last_seen ON incidents (last_seen_at);

CREATE TABLE slots (
    id text PRIMARY KEY,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('foreground', 'static', 'dynamic')),
    engine text NOT NULL,
    daemon text NOT NULL,
    created_at bigint NOT NULL,
    closed_at bigint
);

CREATE UNIQUE INDEX slots_open_name ON slots (name) WHERE closed_at IS NULL;

CREATE TABLE leases (
    resource text PRIMARY KEY,
    holder text NOT NULL,
    token bigint NOT NULL,
    expires_at bigint NOT NULL,
    released_at bigint
);

CREATE INDEX leases_live ON leases (expires_at) WHERE released_at IS NULL;

CREATE TABLE tasks (
    id text PRIMARY KEY,
    prompt text NOT NULL,
    engine text,
    status text NOT NULL CHECK (status IN ('queued', 'running', 'completed', 'failed')),
    slot text REFERENCES slots (id),
    result text,
    error text,
    created_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint
);

CREATE INDEX tasks_queued ON tasks (created_at, id) WHERE status = 'queued';
CREATE INDEX tasks_running ON tasks (id) WHERE status = 'running';
CREATE INDEX tasks_created ON tasks (created_at, id);
