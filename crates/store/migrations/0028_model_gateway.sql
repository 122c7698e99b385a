-- How long a request to a model waited for its turn, and for which limit the longest.
ALTER TABLE llm_requests ADD COLUMN waited_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE llm_requests ADD COLUMN waited_for text;

-- Runs of agents whose last request to a model was refused because a quota or the money for
-- it was used up.
CREATE TABLE llm_refusals (
    execution text PRIMARY KEY,
    refused_at bigint NOT NULL,
    until bigint,
    reason text NOT NULL
);
