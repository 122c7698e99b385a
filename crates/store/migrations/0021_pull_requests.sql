-- The pull request that the work of a task was handed over with, as JSON.

ALTER TABLE board_tasks ADD COLUMN pull_request text;
