-- Who may ask over HTTP. A row is a key, a session of the dashboard that was opened with one, or a code that can be traded
-- once for such a session. The secret itself is shown once and kept nowhere: `digest` can only be compared with.
CREATE TABLE reelstate.keys (
    id         text PRIMARY KEY,
    kind       text NOT NULL CONSTRAINT keys_kind CHECK (kind IN ('key', 'session', 'code')),
    name       text NOT NULL,
    user_id    text NOT NULL DEFAULT '',
    scopes     text[] NOT NULL,
    digest     text NOT NULL,
    parent     text,
    actor      text NOT NULL DEFAULT 'sql',
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz,
    revoked_at timestamptz,
    used_at    timestamptz
);
CREATE INDEX keys_by_name ON reelstate.keys (name) WHERE kind = 'key';
