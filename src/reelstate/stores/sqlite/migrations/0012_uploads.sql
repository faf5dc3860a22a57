-- Films on their way to us. `received` says how many bytes count; what the file on the server's disk holds beyond that
-- does not. `digest` is what the sender said the sha256 would be, `sha256` what it was found to be when all had come.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL DEFAULT '',
    name       TEXT NOT NULL DEFAULT '',
    length     INTEGER,
    received   INTEGER NOT NULL DEFAULT 0,
    digest     TEXT,
    sha256     TEXT,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL NOT NULL,
    CONSTRAINT uploads_received CHECK (received >= 0 AND (length IS NULL OR received <= length)),
    CONSTRAINT uploads_whole CHECK (sha256 IS NULL OR length IS NOT NULL AND received = length)
) WITHOUT ROWID;
CREATE INDEX uploads_by_user ON uploads (user_id) WHERE sha256 IS NULL;
CREATE INDEX uploads_by_expiry ON uploads (expires_at);

-- A film that was uploaded has no other place to be fetched from again.
CREATE INDEX videos_stored ON videos (source) WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://';

-- What lets a player have the files of one video for a while. The ticket itself is shown once: only its digest is kept.
CREATE TABLE tickets (
    digest     TEXT PRIMARY KEY,
    video_id   INTEGER NOT NULL,
    key_id     TEXT NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    expires_at REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX tickets_by_expiry ON tickets (expires_at);
