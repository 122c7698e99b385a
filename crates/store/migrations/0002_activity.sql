-- How much happened in each hour, so that a chart of a month does not read a
-- month of timeline. What the timeline already holds is counted here once.

CREATE TABLE activity (
    hour bigint NOT NULL,
    kind text NOT NULL,
    count bigint NOT NULL,
    PRIMARY KEY (hour, kind)
);

INSERT INTO activity (hour, kind, count)
SELECT at / 3600000000 * 3600000000, kind, count(*)
FROM system_timeline
GROUP BY 1, 2;
