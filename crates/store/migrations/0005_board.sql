-- The board: tasks, what they wait for, the attempts made and what the checks
-- said. Every column is described in docs/schema.md.

-- `number` counts the tasks; the others are only ever locked, so that changes
-- of the graph, and claims of tasks that touch paths, come one after another.
CREATE TABLE board_head (
    name text PRIMARY KEY,
    value bigint NOT NULL
);

INSERT INTO board_head (name, value) VALUES ('number', 0), ('graph', 0), ('touches', 0);

CREATE TABLE board_tasks (
    id text PRIMARY KEY,
    number bigint NOT NULL UNIQUE,
    title text NOT NULL,
    description text NOT NULL,
    status text NOT NULL CHECK (status IN ('open', 'running', 'done', 'failed', 'blocked')),
    phase text NOT NULL,
    phases text NOT NULL,
    priority bigint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    rank double precision NOT NULL,
    parent text REFERENCES board_tasks (id),
    labels text NOT NULL,
    touches text NOT NULL,
    due bigint,
    engine text,
    args text NOT NULL,
    permission text,
    model text,
    repository text,
    isolation text NOT NULL,
    base text,
    finish text NOT NULL,
    checks text NOT NULL,
    setup text NOT NULL,
    teardown text NOT NULL,
    max_attempts bigint NOT NULL,
    budget text,
    tries bigint NOT NULL,
    not_before bigint,
    blocked text,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    finished_at bigint,
    open_dependencies bigint NOT NULL CHECK (open_dependencies >= 0)
);

CREATE INDEX board_tasks_ready ON board_tasks (priority, rank, number)
    WHERE status = 'open' AND open_dependencies = 0;
CREATE INDEX board_tasks_status ON board_tasks (status, priority, rank, number);
CREATE INDEX board_tasks_parent ON board_tasks (parent);

CREATE TABLE board_dependencies (
    task text NOT NULL REFERENCES board_tasks (id),
    depends_on text NOT NULL REFERENCES board_tasks (id),
    PRIMARY KEY (task, depends_on)
);

CREATE INDEX board_dependencies_reverse ON board_dependencies (depends_on, task);

CREATE TABLE board_notes (
    task text NOT NULL REFERENCES board_tasks (id),
    number bigint NOT NULL,
    author text NOT NULL,
    body text NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (task, number)
);

CREATE TABLE board_attempts (
    id text PRIMARY KEY,
    task text NOT NULL REFERENCES board_tasks (id),
    number bigint NOT NULL,
    token bigint NOT NULL,
    holder text NOT NULL,
    daemon text NOT NULL,
    slot text,
    execution text,
    worktree text,
    branch text,
    base_commit text,
    claim_kind text,
    claim_text text,
    claim_at bigint,
    outcome text,
    reason text,
    check_rounds bigint NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    CHECK ((outcome IS NULL) = (ended_at IS NULL))
);

CREATE UNIQUE INDEX board_attempts_by_task ON board_attempts (task, number);
CREATE UNIQUE INDEX board_attempts_running ON board_attempts (task) WHERE ended_at IS NULL;
CREATE INDEX board_attempts_execution ON board_attempts (execution);

CREATE TABLE board_evidence (
    attempt text NOT NULL REFERENCES board_attempts (id),
    round bigint NOT NULL,
    place bigint NOT NULL,
    check_name text NOT NULL,
    exit_code bigint,
    signal bigint,
    timed_out bigint NOT NULL,
    passed bigint NOT NULL,
    tail text NOT NULL,
    commit_id text,
    at bigint NOT NULL,
    millis bigint NOT NULL,
    PRIMARY KEY (attempt, round, place)
);
