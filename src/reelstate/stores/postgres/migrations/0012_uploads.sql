-- Films on their way to us. `received` says how many bytes count; what the file on the server's disk holds beyond that
-- does not. `digest` is what the sender said the sha256 would be, `sha256` what it was found to be when all had come.
CREATE TABLE reelstate.uploads (
    id         text PRIMARY KEY,
    user_id    text NOT NULL DEFAULT '',
    name       text NOT NULL DEFAULT '',
    length     bigint,
    received   bigint NOT NULL DEFAULT 0,
    digest     text,
    sha256     text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    CONSTRAINT uploads_received CHECK (received >= 0 AND (length IS NULL OR received <= length)),
    CONSTRAINT uploads_whole CHECK (sha256 IS NULL OR length IS NOT NULL AND received = length)
);
CREATE INDEX uploads_by_user ON reelstate.uploads (user_id) WHERE sha256 IS NULL;
CREATE INDEX uploads_by_expiry ON reelstate.uploads (expires_at);

-- A film that was uploaded has no other place to be fetched from again.
CREATE INDEX videos_stored ON reelstate.videos (source) WHERE deleted_at IS NULL AND substr(source, 1, 9) = 'stored://';

-- What lets a player have the files of one video for a while. The ticket itself is shown once: only its digest is kept.
CREATE TABLE reelstate.tickets (
    digest     text PRIMARY KEY,
    video_id   bigint NOT NULL,
    key_id     text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX tickets_by_expiry ON reelstate.tickets (expires_at);
