INSERT INTO jobs (id, pipeline_id, user_id, phase, priority, actor, run_after, created_at, changed_at, spec, resource_id,
    request, trace)
SELECT given.id, :pipeline_id, :user_id, :phase, :priority, 'user', CASE WHEN :delay > 0 THEN :now + :delay END, :now,
       :now, given.spec, :resource_id, :request, given.trace
FROM given
