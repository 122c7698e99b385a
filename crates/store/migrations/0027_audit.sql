-- Where the audit was, for each time it was opened: its log lies in a file, and whoever puts
-- an older one in its place is found out by this.
CREATE TABLE audit_anchors (
    home text NOT NULL,
    opened_at bigint NOT NULL,
    records bigint NOT NULL,
    head text NOT NULL,
    anchored_at bigint NOT NULL,
    PRIMARY KEY (home, opened_at)
);

-- What a token lets do. Those that are there could do everything that a token can.
ALTER TABLE http_access ADD COLUMN scopes text NOT NULL DEFAULT 'read,work,terminals,manage';
