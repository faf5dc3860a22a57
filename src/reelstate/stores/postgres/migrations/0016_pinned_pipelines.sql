-- The version of a pipeline that new jobs run though a newer one was declared.
ALTER TABLE reelstate.pipelines ADD COLUMN pinned boolean NOT NULL DEFAULT false;
