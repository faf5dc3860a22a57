-- The library. A version of a video is a job that names it, so a video has no status of its own: it is read from its
-- versions. `pinned` is the version that an operator went back to.
CREATE TABLE videos (
    id         INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    source     TEXT NOT NULL,
    user_id    TEXT NOT NULL DEFAULT '',
    pinned     INTEGER,
    version    INTEGER NOT NULL DEFAULT 1,
    actor      TEXT NOT NULL DEFAULT 'sql',
    reason     TEXT,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    changed_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    deleted_at REAL
);
CREATE INDEX videos_by_user ON videos (user_id, id) WHERE user_id <> '';

ALTER TABLE jobs ADD COLUMN video_id INTEGER;
CREATE INDEX jobs_by_video ON jobs (video_id, id) WHERE video_id IS NOT NULL;

-- Versions that can't be played or pinned any more. Their bytes are deleted after the row is written, and `swept_at` is
-- set after that: whoever dies in between leaves a row that says what is still to be deleted.
CREATE TABLE removed_versions (
    job_id     INTEGER PRIMARY KEY,
    video_id   INTEGER NOT NULL,
    removed_at REAL NOT NULL,
    swept_at   REAL
);
CREATE INDEX removed_versions_unswept ON removed_versions (job_id) WHERE swept_at IS NULL;
