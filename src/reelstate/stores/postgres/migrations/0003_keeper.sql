-- What keepers know of each other, in one row: who leads, when one of them was last here, when a sweep last went
-- through, and the grace that follows when all of them were away. `findings` counts the events of findings.
CREATE TABLE reelstate.keeper (
    one          boolean PRIMARY KEY DEFAULT true CHECK (one),
    leader       text,
    led_at       timestamptz,
    lead_seconds double precision NOT NULL DEFAULT 0,
    seen_at      timestamptz,
    swept_at     timestamptz,
    graced_at    timestamptz,
    grace_until  timestamptz,
    granted      double precision NOT NULL DEFAULT 0,
    findings     integer NOT NULL DEFAULT 0
);
INSERT INTO reelstate.keeper DEFAULT VALUES;

-- What the quick checks found and find still. An event tells when one comes and when it is gone.
CREATE TABLE reelstate.findings (
    name     text NOT NULL,
    job_id   bigint NOT NULL,
    stage    smallint NOT NULL,
    part     integer NOT NULL,
    subject  text NOT NULL,
    found_at timestamptz NOT NULL,
    PRIMARY KEY (name, job_id, stage, part, subject)
);

-- All findings of a store are told in one sequence of versions.
ALTER TABLE reelstate.events DROP CONSTRAINT events_entity;
ALTER TABLE reelstate.events ADD CONSTRAINT events_entity
    CHECK (entity IN ('job', 'stage', 'task', 'worker', 'finding'));
CREATE UNIQUE INDEX events_by_finding ON reelstate.events (version) WHERE entity = 'finding';
