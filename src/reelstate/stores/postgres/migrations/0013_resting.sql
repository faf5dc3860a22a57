-- Jobs that came to rest, by when they did: the keeper looks every second for what rests since lately. Whatever rests has
-- an end; that the index says so keeps it out of the plans of listings, which do not.
CREATE INDEX jobs_resting ON reelstate.jobs (changed_at)
    WHERE status IN ('failed', 'quarantined') AND finished_at IS NOT NULL;
