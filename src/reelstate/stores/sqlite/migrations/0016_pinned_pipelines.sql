-- The version of a pipeline that new jobs run though a newer one was declared.
ALTER TABLE pipelines ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
