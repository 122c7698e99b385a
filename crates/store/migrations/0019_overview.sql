-- When the person last saw what was finished, and the conversation of a run by an
-- index: the overview asks for those of every run it shows.

CREATE TABLE overview_seen (
    id bigint PRIMARY KEY CHECK (id = 1),
    at bigint NOT NULL
);

CREATE INDEX conversations_by_execution ON conversations (execution);

CREATE INDEX board_tasks_finished ON board_tasks (finished_at);
