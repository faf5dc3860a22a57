-- The public place of a video shows this version now; unless somebody else has written it meanwhile.
UPDATE videos SET published = :job_id
WHERE id = :video_id AND published IS :before
RETURNING id, user_id
