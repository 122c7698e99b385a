-- What people and agents said to each other, as the transcripts of the agent
-- CLIs have it. Whatever is in a conversation has a place in one order, given
-- when it is taken in, and a key its transcript gives it: what is read again
-- has its key already and adds nothing.

CREATE TABLE conversations (
    id text PRIMARY KEY,
    engine text NOT NULL,
    session text NOT NULL,
    host text NOT NULL,
    project text NOT NULL,
    cwd text NOT NULL,
    title text NOT NULL,
    execution text,
    task text,
    slot text,
    started_at bigint NOT NULL,
    last_at bigint NOT NULL,
    taken_at bigint NOT NULL,
    next_place bigint NOT NULL,
    skipped bigint NOT NULL,
    diagnostic text
);

CREATE INDEX conversations_by_project ON conversations (project, last_at);

CREATE INDEX conversations_by_last ON conversations (last_at);

CREATE INDEX conversations_by_taken ON conversations (taken_at);

CREATE INDEX conversations_by_task ON conversations (task);

CREATE TABLE conversation_messages (
    conversation text NOT NULL,
    place bigint NOT NULL,
    key text NOT NULL,
    turn bigint NOT NULL,
    role text NOT NULL,
    text text NOT NULL,
    model text,
    noise text,
    bytes bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (conversation, place)
);

CREATE UNIQUE INDEX conversation_messages_by_key ON conversation_messages (conversation, key);

CREATE TABLE tool_calls (
    conversation text NOT NULL,
    place bigint NOT NULL,
    call text NOT NULL,
    turn bigint NOT NULL,
    tool text NOT NULL,
    input text NOT NULL,
    outcome text,
    output text NOT NULL,
    noise text,
    bytes bigint NOT NULL,
    at bigint NOT NULL,
    ended_at bigint,
    PRIMARY KEY (conversation, place)
);

CREATE UNIQUE INDEX tool_calls_by_call ON tool_calls (conversation, call);

CREATE TABLE conversation_events (
    conversation text NOT NULL,
    place bigint NOT NULL,
    key text NOT NULL,
    turn bigint NOT NULL,
    kind text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (conversation, place)
);

CREATE UNIQUE INDEX conversation_events_by_key ON conversation_events (conversation, key);

CREATE TABLE conversation_usage (
    conversation text NOT NULL,
    request text NOT NULL,
    model text,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cache_read_tokens bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (conversation, request)
);

-- A turn is what follows from a person's prompt. It is made from the rows above
-- by rules alone, each row once, in the transaction that adds the row.

CREATE TABLE turns (
    conversation text NOT NULL,
    number bigint NOT NULL,
    first_place bigint NOT NULL,
    last_place bigint NOT NULL,
    prompt text NOT NULL,
    answer text NOT NULL,
    messages bigint NOT NULL,
    tools bigint NOT NULL,
    failed bigint NOT NULL,
    ending text,
    began_at bigint NOT NULL,
    last_at bigint NOT NULL,
    PRIMARY KEY (conversation, number)
);

CREATE INDEX turns_by_last ON turns (last_at);

-- How far each transcript was read, moved with what was read.

CREATE TABLE transcript_cursors (
    host text NOT NULL,
    source text NOT NULL,
    conversation text NOT NULL,
    place text NOT NULL,
    moved_at bigint NOT NULL,
    PRIMARY KEY (host, source)
);
