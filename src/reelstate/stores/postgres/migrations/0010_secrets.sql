-- Secrets of this database: what its servers sign permits of remote workers with. Each is made when it is first needed.
CREATE TABLE reelstate.secrets (
    name       text PRIMARY KEY,
    secret     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
