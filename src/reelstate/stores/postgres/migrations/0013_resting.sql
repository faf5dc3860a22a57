-- Jobs that came to rest, by when they did: the keeper looks every second for what rests since lately.
CREATE INDEX jobs_resting ON reelstate.jobs (changed_at) WHERE status IN ('failed', 'quarantined');
