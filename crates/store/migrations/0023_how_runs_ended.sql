-- How a run ended, beside when: the journal knows it too, and is not read for a list.
ALTER TABLE executions ADD COLUMN ended_as text;
