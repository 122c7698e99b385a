-- What was learned. An entry is never overwritten: each change is a revision,
-- and what was archived can be brought back.

CREATE TABLE knowledge (
    id text PRIMARY KEY,
    key text NOT NULL,
    scope text NOT NULL,
    category text NOT NULL,
    summary text NOT NULL,
    detail text NOT NULL,
    labels text NOT NULL,
    source text NOT NULL,
    conversation text,
    turn bigint,
    author text NOT NULL,
    tier text NOT NULL,
    confidence double precision NOT NULL,
    utility double precision NOT NULL,
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    verified_at bigint NOT NULL,
    used_at bigint,
    archived_at bigint,
    archived_why text
);

CREATE UNIQUE INDEX knowledge_by_key ON knowledge (scope, key);

CREATE TABLE knowledge_revisions (
    entry text NOT NULL,
    revision bigint NOT NULL,
    category text NOT NULL,
    summary text NOT NULL,
    detail text NOT NULL,
    labels text NOT NULL,
    author text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (entry, revision)
);

CREATE TABLE knowledge_edges (
    from_entry text NOT NULL,
    to_entry text NOT NULL,
    kind text NOT NULL,
    reason text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (from_entry, to_entry, kind)
);

CREATE INDEX knowledge_edges_by_target ON knowledge_edges (to_entry);

-- Each model once; what its unlike texts come to is measured when its vectors
-- are complete.

CREATE TABLE knowledge_models (
    name text PRIMARY KEY,
    dimension bigint NOT NULL,
    calibration text,
    completed_at bigint
);

CREATE TABLE knowledge_vectors (
    entry text NOT NULL,
    model text NOT NULL,
    revision bigint NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (entry, model)
);

CREATE INDEX knowledge_vectors_by_model ON knowledge_vectors (model);

-- What machines propose, until a rule or a person decides.

CREATE TABLE knowledge_inbox (
    id text PRIMARY KEY,
    proposal text NOT NULL,
    source text NOT NULL,
    at bigint NOT NULL,
    decided_at bigint,
    decision text,
    entry text
);
