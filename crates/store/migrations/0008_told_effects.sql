-- What has been told on the timeline of the effects of executions. Written with
-- the event itself, so that a daemon that died before its journal knew of it
-- does not tell it again.

CREATE TABLE told_effects (
    execution text NOT NULL,
    effect text NOT NULL,
    told_at bigint NOT NULL,
    PRIMARY KEY (execution, effect)
);
