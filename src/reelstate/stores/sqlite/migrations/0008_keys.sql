-- Who may ask over HTTP. A row is a key, a session of the dashboard that was opened with one, or a code that can be traded
-- once for such a session. The secret itself is shown once and kept nowhere: `digest` can only be compared with.
CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL CONSTRAINT keys_kind CHECK (kind IN ('key', 'session', 'code')),
    name       TEXT NOT NULL,
    user_id    TEXT NOT NULL DEFAULT '',
    scopes     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    parent     TEXT,
    actor      TEXT NOT NULL DEFAULT 'sql',
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL,
    revoked_at REAL,
    used_at    REAL
) WITHOUT ROWID;
CREATE INDEX keys_by_name ON keys (name) WHERE kind = 'key';
