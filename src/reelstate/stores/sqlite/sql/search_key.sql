SELECT job_id FROM idempotency WHERE user_id = :user_id AND key = :key
