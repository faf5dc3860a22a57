-- The library. A version of a video is a job that names it, so a video has no status of its own: it is read from its
-- versions. `pinned` is the version that an operator went back to.
CREATE TABLE reelstate.videos (
    id         bigint PRIMARY KEY,
    title      text NOT NULL,
    source     text NOT NULL,
    user_id    text NOT NULL DEFAULT '',
    pinned     bigint,
    version    integer NOT NULL DEFAULT 1,
    actor      text NOT NULL DEFAULT 'sql',
    reason     text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deleted_at timestamptz
);
CREATE INDEX videos_by_user ON reelstate.videos (user_id, id) WHERE user_id <> '';

ALTER TABLE reelstate.jobs ADD COLUMN video_id bigint;
CREATE INDEX jobs_by_video ON reelstate.jobs (video_id, id) WHERE video_id IS NOT NULL;

-- Versions that can't be played or pinned any more. Their bytes are deleted after the row is written, and `swept_at` is
-- set after that: whoever dies in between leaves a row that says what is still to be deleted.
CREATE TABLE reelstate.removed_versions (
    job_id     bigint PRIMARY KEY,
    video_id   bigint NOT NULL,
    removed_at timestamptz NOT NULL,
    swept_at   timestamptz
);
CREATE INDEX removed_versions_unswept ON reelstate.removed_versions (job_id) WHERE swept_at IS NULL;
