-- Parts of an earlier, longer fan-out that the new one no longer has.
UPDATE tasks
SET status = 'skipped', version = version + 1, actor = 'orchestrator', reason = 'not part of the new fan-out',
    finished_at = max(:now, coalesce(started_at, :now)), changed_at = :now
WHERE job_id = :job_id AND stage = :stage AND part >= :total AND status = 'new'
