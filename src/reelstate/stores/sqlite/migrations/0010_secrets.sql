-- Secrets of this database: what its servers sign permits of remote workers with. Each is made when it is first needed.
CREATE TABLE secrets (
    name       TEXT PRIMARY KEY,
    secret     TEXT NOT NULL,
    created_at REAL NOT NULL
) WITHOUT ROWID;
