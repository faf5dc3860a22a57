-- `trace` is the W3C trace context that a job was submitted in: its `traceparent`, and after a space its `tracestate`.
-- Most jobs have none, and a null takes no room.
ALTER TABLE jobs ADD COLUMN trace TEXT;
