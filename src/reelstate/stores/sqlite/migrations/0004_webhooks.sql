-- Webhooks, callbacks and alerts: what must reach the outside because of a transition is a row here, written in the
-- transaction of the transition by triggers, and delivered by keepers.

-- The events that transitions of jobs cause, by their origin ('' for any) and target. `resources` restricts an event to
-- jobs with a resource. Processes register the types that they know.
CREATE TABLE event_types (
    name      TEXT NOT NULL,
    origin    TEXT NOT NULL DEFAULT '',
    target    TEXT NOT NULL,
    resources INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (name, origin, target)
);

-- Endpoints. A webhook has a URL; of the kind `callback` each user has one, whose deliveries go to the URLs of jobs; the
-- one of the kind `alert` goes to the URL in the settings. Secrets are kept because deliveries are signed with them, and
-- are never listed: the old one is valid until `old_until`. The user '' gets the events of all users.
CREATE TABLE webhooks (
    id            TEXT PRIMARY KEY,
    kind          TEXT NOT NULL CONSTRAINT webhooks_kind CHECK (kind IN ('webhook', 'callback', 'alert')),
    user_id       TEXT NOT NULL DEFAULT '',
    url           TEXT NOT NULL DEFAULT '',
    events        TEXT NOT NULL DEFAULT '[]',
    description   TEXT NOT NULL DEFAULT '',
    secret        TEXT NOT NULL,
    old_secret    TEXT,
    old_until     REAL,
    enabled       INTEGER NOT NULL DEFAULT 1,
    disabled      TEXT,
    failing_since REAL,
    actor         TEXT NOT NULL DEFAULT 'sql',
    created_at    REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    changed_at    REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);
CREATE UNIQUE INDEX webhooks_by_user ON webhooks (user_id) WHERE kind = 'callback';

-- The callback URL of a job.
CREATE TABLE callbacks (
    job_id     INTEGER PRIMARY KEY,
    webhook_id TEXT NOT NULL,
    url        TEXT NOT NULL,
    lane       TEXT NOT NULL,
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
);

-- The outbox. `lane` is what the limit of concurrent requests counts: a webhook, or the host of a callback. A leased row
-- is claimed under `token`; when its sender dies, `next_at` makes it due again. `once` keeps an event from being written
-- twice.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id  TEXT NOT NULL,
    lane        TEXT NOT NULL,
    url         TEXT,
    type        TEXT NOT NULL,
    job_id      INTEGER,
    once        TEXT,
    data        TEXT NOT NULL,
    status      TEXT NOT NULL DEFAULT 'pending'
        CONSTRAINT deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    attempt     INTEGER NOT NULL DEFAULT 0,
    token       INTEGER NOT NULL DEFAULT 0,
    leased      INTEGER NOT NULL DEFAULT 0 CONSTRAINT deliveries_leased CHECK (NOT leased OR status = 'pending'),
    created_at  REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    next_at     REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    finished_at REAL
);
CREATE INDEX deliveries_due ON deliveries (lane, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_busy ON deliveries (lane) WHERE leased;
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);
CREATE INDEX deliveries_by_age ON deliveries (created_at);
CREATE UNIQUE INDEX deliveries_once ON deliveries (webhook_id, once) WHERE once IS NOT NULL;

-- What came of the requests of a delivery. A sender that was killed leaves a gap in the tokens.
CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL,
    token       INTEGER NOT NULL,
    at          REAL NOT NULL,
    seconds     REAL NOT NULL,
    status      INTEGER,
    failure     TEXT,
    response    TEXT,
    PRIMARY KEY (delivery_id, token)
);

-- What operators are alerted about. Rows are only added, so that no transition waits for another; a keeper folds those
-- of one type and subject into one delivery, once per cooldown.
CREATE TABLE alerts (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    type      TEXT NOT NULL,
    subject   TEXT NOT NULL,
    message   TEXT NOT NULL,
    job_id    INTEGER,
    at        REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0),
    folded_at REAL
);
CREATE INDEX alerts_unsent ON alerts (type, subject) WHERE folded_at IS NULL;
CREATE INDEX alerts_by_age ON alerts (at);
CREATE TABLE alert_cooldowns (
    type    TEXT NOT NULL,
    subject TEXT NOT NULL,
    sent_at REAL NOT NULL,
    PRIMARY KEY (type, subject)
);
