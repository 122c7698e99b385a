-- How many of the tokens a request wrote to a cache stay there for an hour: they
-- have a price of their own. They are among `cache_write_tokens`.

ALTER TABLE conversation_usage ADD COLUMN cache_write_1h_tokens bigint NOT NULL DEFAULT 0;
