-- Webhooks, callbacks and alerts: what must reach the outside because of a transition is a row here, written in the
-- transaction of the transition by triggers, and delivered by keepers.

-- The events that transitions of jobs cause, by their origin ('' for any) and target. `resources` restricts an event to
-- jobs with a resource. Processes register the types that they know.
CREATE TABLE reelstate.event_types (
    name      text NOT NULL,
    origin    text NOT NULL DEFAULT '',
    target    text NOT NULL,
    resources boolean NOT NULL DEFAULT false,
    PRIMARY KEY (name, origin, target)
);

-- Endpoints. A webhook has a URL; of the kind `callback` each user has one, whose deliveries go to the URLs of jobs; the
-- one of the kind `alert` goes to the URL in the settings. Secrets are kept because deliveries are signed with them, and
-- are never listed: the old one is valid until `old_until`. The user '' gets the events of all users.
CREATE TABLE reelstate.webhooks (
    id            text PRIMARY KEY,
    kind          text NOT NULL CONSTRAINT webhooks_kind CHECK (kind IN ('webhook', 'callback', 'alert')),
    user_id       text NOT NULL DEFAULT '',
    url           text NOT NULL DEFAULT '',
    events        text[] NOT NULL DEFAULT '{}',
    description   text NOT NULL DEFAULT '',
    secret        text NOT NULL,
    old_secret    text,
    old_until     timestamptz,
    enabled       boolean NOT NULL DEFAULT true,
    disabled      text,
    failing_since timestamptz,
    actor         text NOT NULL DEFAULT 'sql',
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE UNIQUE INDEX webhooks_by_user ON reelstate.webhooks (user_id) WHERE kind = 'callback';

-- The callback URL of a job.
CREATE TABLE reelstate.callbacks (
    job_id     bigint PRIMARY KEY,
    webhook_id text NOT NULL,
    url        text NOT NULL,
    lane       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The outbox. `lane` is what the limit of concurrent requests counts: a webhook, or the host of a callback. A leased row
-- is claimed under `token`; when its sender dies, `next_at` makes it due again. `once` keeps an event from being written
-- twice.
CREATE TABLE reelstate.deliveries (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook_id  text NOT NULL,
    lane        text NOT NULL,
    url         text,
    type        text NOT NULL,
    job_id      bigint,
    once        text,
    data        jsonb NOT NULL,
    status      text NOT NULL DEFAULT 'pending'
        CONSTRAINT deliveries_status CHECK (status IN ('pending', 'delivered', 'failed')),
    attempt     integer NOT NULL DEFAULT 0,
    token       integer NOT NULL DEFAULT 0,
    leased      boolean NOT NULL DEFAULT false CONSTRAINT deliveries_leased CHECK (NOT leased OR status = 'pending'),
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    next_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz
) WITH (fillfactor = 80);
CREATE INDEX deliveries_due ON reelstate.deliveries (lane, next_at) WHERE status = 'pending';
CREATE INDEX deliveries_busy ON reelstate.deliveries (lane) WHERE leased;
CREATE INDEX deliveries_by_webhook ON reelstate.deliveries (webhook_id, id);
CREATE INDEX deliveries_by_age ON reelstate.deliveries (created_at);
CREATE UNIQUE INDEX deliveries_once ON reelstate.deliveries (webhook_id, once) WHERE once IS NOT NULL;

-- What came of the requests of a delivery. A sender that was killed leaves a gap in the tokens.
CREATE TABLE reelstate.delivery_attempts (
    delivery_id bigint NOT NULL,
    token       integer NOT NULL,
    at          timestamptz NOT NULL,
    seconds     double precision NOT NULL,
    status      integer,
    failure     text,
    response    text,
    PRIMARY KEY (delivery_id, token)
);

-- What operators are alerted about. Rows are only added, so that no transition waits for another; a keeper folds those
-- of one type and subject into one delivery, once per cooldown.
CREATE TABLE reelstate.alerts (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    type      text NOT NULL,
    subject   text NOT NULL,
    message   text NOT NULL,
    job_id    bigint,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    folded_at timestamptz
);
CREATE INDEX alerts_unsent ON reelstate.alerts (type, subject) WHERE folded_at IS NULL;
CREATE INDEX alerts_by_age ON reelstate.alerts (at);
CREATE TABLE reelstate.alert_cooldowns (
    type    text NOT NULL,
    subject text NOT NULL,
    sent_at timestamptz NOT NULL,
    PRIMARY KEY (type, subject)
);
