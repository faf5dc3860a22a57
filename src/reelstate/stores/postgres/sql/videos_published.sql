-- The public place of a video shows this version now; unless somebody else has written it meanwhile.
UPDATE reelstate.videos SET published = %(job_id)s
WHERE id = %(video_id)s AND published IS NOT DISTINCT FROM %(before)s
RETURNING id, user_id
