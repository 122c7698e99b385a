-- What a model made of the text that stands for a symbol. Known by the text, so
-- that code that moves, and worktrees of one repository, share it.

CREATE TABLE code_vectors (
    model text NOT NULL,
    described text NOT NULL,
    vector bytea NOT NULL,
    made_at bigint NOT NULL,
    PRIMARY KEY (model, described)
);

CREATE INDEX code_vectors_by_age ON code_vectors (made_at);

-- Whoever follows executions looks every second for those that ended.
CREATE INDEX executions_by_end ON executions (ended_at);
