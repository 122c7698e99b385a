-- Every request to a model with what it cost, what is known of providers that are left
-- alone, the tokens with which agents reach their models, and conversations with the
-- router.

CREATE TABLE llm_requests (
    id text PRIMARY KEY,
    daemon text NOT NULL,
    provider text NOT NULL,
    format text NOT NULL,
    model text NOT NULL,
    answered_by text,
    purpose text NOT NULL,
    principal text NOT NULL,
    trace_id text,
    execution text,
    task text,
    started_at bigint NOT NULL,
    first_piece_at bigint,
    ended_at bigint,
    outcome text,
    failure text,
    stop text,
    input_tokens bigint,
    cache_read_tokens bigint,
    cache_write_tokens bigint,
    cache_write_1h_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    reserved bigint NOT NULL,
    cost bigint,
    prompt text,
    answer text
);

CREATE INDEX llm_requests_by_start ON llm_requests (started_at);
CREATE INDEX llm_requests_by_execution ON llm_requests (execution, started_at);
CREATE INDEX llm_requests_by_task ON llm_requests (task, started_at);
CREATE INDEX llm_requests_by_trace ON llm_requests (trace_id);
CREATE INDEX llm_requests_under_way ON llm_requests (daemon) WHERE ended_at IS NULL;

-- The one row that whoever reserves money holds.
CREATE TABLE llm_budget (
    id bigint PRIMARY KEY CHECK (id = 1)
);

INSERT INTO llm_budget (id) VALUES (1);

CREATE TABLE llm_parked (
    provider text PRIMARY KEY,
    parked_at bigint NOT NULL,
    until bigint NOT NULL,
    reason text NOT NULL
);

CREATE TABLE llm_tokens (
    token_hash text PRIMARY KEY,
    execution text NOT NULL,
    created_at bigint NOT NULL
);

CREATE INDEX llm_tokens_by_execution ON llm_tokens (execution);

CREATE TABLE router_chat_sessions (
    id text PRIMARY KEY,
    title text NOT NULL,
    started_at bigint NOT NULL,
    used_at bigint NOT NULL
);

CREATE TABLE router_chat_messages (
    session text NOT NULL REFERENCES router_chat_sessions (id),
    position bigint NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    content text NOT NULL,
    request text,
    at bigint NOT NULL,
    PRIMARY KEY (session, position)
);
