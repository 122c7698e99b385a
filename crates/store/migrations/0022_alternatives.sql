-- A task that several engines try at once is several tasks. The first is the head of
-- the group; each of the others names it.
ALTER TABLE board_tasks ADD COLUMN alternative_of text REFERENCES board_tasks (id);
CREATE INDEX board_tasks_alternative_of ON board_tasks (alternative_of);
