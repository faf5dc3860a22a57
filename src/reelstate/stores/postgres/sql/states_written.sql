-- The version of an event id that another process wrote concurrently.
SELECT job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation FROM reelstate.state_log
WHERE job_id = %(job_id)s AND generation = %(generation)s AND task = %(task)s AND tag = %(tag)s
  AND event_id = %(event_id)s
