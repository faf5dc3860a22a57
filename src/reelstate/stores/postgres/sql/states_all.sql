SELECT job_id, task, tag, status, severity, message, payload, schema_version, at, version, event_id, generation FROM reelstate.states WHERE job_id = %(job_id)s AND generation = %(generation)s
