SELECT id, video_id FROM jobs WHERE id IN (SELECT value FROM json_each(:job_ids)) AND video_id IS NOT NULL
