-- What drives the agents of a task, where the task says it: `structured` or `terminal`.
ALTER TABLE board_tasks ADD COLUMN control text;
