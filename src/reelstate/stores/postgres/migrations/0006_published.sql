-- Which version of a video stands at its public place. Written after that place is, so that whoever dies in between has
-- it written again.
ALTER TABLE reelstate.videos ADD COLUMN published bigint;
CREATE INDEX videos_by_change ON reelstate.videos (changed_at);
CREATE INDEX jobs_by_video_finish ON reelstate.jobs (finished_at) WHERE video_id IS NOT NULL;
