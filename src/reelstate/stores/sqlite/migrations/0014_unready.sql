-- Versions that are not complete, or were only said to be: of a large library few, and among them is the latest version
-- of each video that has none to play.
CREATE INDEX jobs_by_video_unready ON jobs (video_id)
    WHERE video_id IS NOT NULL AND (status <> 'completed' OR reason IS NOT NULL);
