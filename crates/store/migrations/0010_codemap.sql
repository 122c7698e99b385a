-- The code map: what was read of repositories, so that a daemon need not read
-- them again, and the landmarks people set in them.

CREATE TABLE code_repositories (
    id bigint PRIMARY KEY,
    host text NOT NULL,
    root text NOT NULL,
    format bigint NOT NULL,
    checked_at bigint,
    UNIQUE (host, root)
);

CREATE TABLE code_files (
    repository bigint NOT NULL,
    path text NOT NULL,
    size bigint NOT NULL,
    modified_ns bigint NOT NULL,
    changed_ns bigint NOT NULL,
    language text,
    hash text,
    lines bigint NOT NULL,
    skipped text,
    identifiers text NOT NULL,
    PRIMARY KEY (repository, path)
);

CREATE TABLE ast_nodes (
    repository bigint NOT NULL,
    path text NOT NULL,
    place bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    container text NOT NULL,
    signature text NOT NULL,
    doc text NOT NULL,
    words text NOT NULL,
    first_line bigint NOT NULL,
    last_line bigint NOT NULL,
    start_byte bigint NOT NULL,
    end_byte bigint NOT NULL,
    hash text NOT NULL,
    nameless text NOT NULL,
    PRIMARY KEY (repository, path, place)
);

CREATE TABLE beacons (
    family bigint NOT NULL,
    name text NOT NULL,
    note text NOT NULL,
    repository bigint NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (family, name)
);

CREATE TABLE beacon_nodes (
    family bigint NOT NULL,
    beacon text NOT NULL,
    place bigint NOT NULL,
    path text NOT NULL,
    kind text NOT NULL,
    container text NOT NULL,
    name text NOT NULL,
    signature text NOT NULL,
    words text NOT NULL,
    hash text NOT NULL,
    nameless text NOT NULL,
    line bigint NOT NULL,
    trail text NOT NULL,
    moved_from text,
    lost_at bigint,
    followed_at bigint NOT NULL,
    PRIMARY KEY (family, beacon, place)
);
