-- Who may reach a daemon over HTTP: browsers that have logged in, and the tokens
-- of programs. Of a secret only its hash is here, made with the key of a home.

CREATE TABLE http_access (
    id text PRIMARY KEY,
    home text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('session', 'token')),
    name text NOT NULL,
    secret_hash text NOT NULL UNIQUE,
    created_at bigint NOT NULL,
    expires_at bigint,
    last_used_at bigint,
    revoked_at bigint
);

CREATE INDEX http_access_by_home ON http_access (home, created_at);
