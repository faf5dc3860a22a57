-- Before the tasks and jobs of the videos, if those are locked too. Whoever adds or removes a version, pins or deletes
-- comes through here, so that each sees what the other did.
SELECT id, source, pinned, version, deleted_at FROM reelstate.videos
WHERE id = ANY (%(video_ids)s::bigint[]) AND (%(owner)s::text IS NULL OR user_id = %(owner)s::text)
ORDER BY id FOR UPDATE
