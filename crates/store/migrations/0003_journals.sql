-- Journals of executions, for those who keep them in the database instead of in
-- files. A line is stored as it is; what it means is the journal's affair.

CREATE TABLE journals (
    execution text PRIMARY KEY,
    seq bigint NOT NULL,
    hash text NOT NULL,
    records bigint NOT NULL,
    segment bigint NOT NULL
);

CREATE TABLE journal_lines (
    execution text NOT NULL REFERENCES journals (execution),
    seq bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (execution, seq)
);
