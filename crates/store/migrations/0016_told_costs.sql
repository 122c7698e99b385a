-- What a transcript itself says a request, or a whole conversation, cost, in
-- millionths of a US dollar. Null where it does not say.

ALTER TABLE conversation_usage ADD COLUMN cost bigint;
