SELECT job_id FROM reelstate.idempotency WHERE user_id = %(user_id)s AND key = %(key)s
