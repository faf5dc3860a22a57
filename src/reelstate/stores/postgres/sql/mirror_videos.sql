SELECT id, video_id FROM reelstate.jobs WHERE id = ANY (%(job_ids)s::bigint[]) AND video_id IS NOT NULL
