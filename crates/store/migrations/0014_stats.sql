-- The daemon's numbers over time, for plots: one row a moment, fine ones for a
-- while and coarse ones for longer.

CREATE TABLE stats_samples (
    host text NOT NULL,
    resolution bigint NOT NULL CHECK (resolution IN (0, 1)),
    at bigint NOT NULL,
    numbers text NOT NULL,
    PRIMARY KEY (host, resolution, at)
);
