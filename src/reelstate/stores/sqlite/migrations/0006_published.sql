-- Which version of a video stands at its public place. Written after that place is, so that whoever dies in between has
-- it written again.
ALTER TABLE videos ADD COLUMN published INTEGER;
CREATE INDEX videos_by_change ON videos (changed_at);
CREATE INDEX jobs_by_video_finish ON jobs (finished_at) WHERE video_id IS NOT NULL;
