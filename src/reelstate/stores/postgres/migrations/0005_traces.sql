-- `trace` is the W3C trace context that a job was submitted in: its `traceparent`, and after a space its `tracestate`.
-- Most jobs have none, and a null takes no room.
ALTER TABLE reelstate.jobs ADD COLUMN trace text;
ALTER TABLE reelstate.jobs_archive ADD COLUMN trace text;
