-- A task that is verified and waits for a person is in review. A check of a column
-- cannot be changed in both engines, so the column is made anew.

DROP INDEX board_tasks_ready;
DROP INDEX board_tasks_status;
ALTER TABLE board_tasks ADD COLUMN standing text NOT NULL DEFAULT 'open'
    CHECK (standing IN ('open', 'running', 'review', 'done', 'failed', 'blocked'));
UPDATE board_tasks SET standing = status;
ALTER TABLE board_tasks DROP COLUMN status;
ALTER TABLE board_tasks RENAME COLUMN standing TO status;
CREATE INDEX board_tasks_ready ON board_tasks (priority, rank, number)
    WHERE status = 'open' AND open_dependencies = 0;
CREATE INDEX board_tasks_status ON board_tasks (status, priority, rank, number);

-- Whether a person looks at verified work before it is merged.
ALTER TABLE board_tasks ADD COLUMN review text NOT NULL DEFAULT 'merge_at_once';

-- Set when a task is begun from scratch: nothing of the attempt is gone on with.
ALTER TABLE board_attempts ADD COLUMN abandoned bigint NOT NULL DEFAULT 0;

-- Of a round of checks: files that are nobody's work, and those that were put back.
ALTER TABLE board_evidence ADD COLUMN note text;
