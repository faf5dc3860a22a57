"""The triggers in SQLite that write deliveries and alerts in the transaction of their event.

Without webhooks, callbacks and alerts, the table `webhooks` is empty and a transition costs one look at it.
"""

from __future__ import annotations

from typing import Final

UNLESS_REPAIRING: Final = "NOT EXISTS (SELECT 1 FROM repairing)"
NOW: Final = "(julianday('now') - 2440587.5) * 86400.0"
ALERTS: Final = "EXISTS (SELECT 1 FROM webhooks WHERE kind = 'alert')"
_AT: Final = f"CASE WHEN NEW.version = OLD.version THEN {NOW} ELSE NEW.changed_at END"
_EVENT: Final = """t.target = NEW.status AND t.origin IN ('', OLD.status)
     AND (NOT t.resources OR NEW.resource_id IS NOT NULL)"""
_PIPELINE: Final = "(SELECT name FROM pipelines WHERE id = NEW.pipeline_id)"
_DATA: Final = f"""json_object('job_id', NEW.id, 'pipeline', {_PIPELINE}, 'status', NEW.status, 'user_id', NEW.user_id,
               'version', OLD.version + 1, 'resource_id', NEW.resource_id, 'reason', NEW.reason,
               'error', CASE WHEN NEW.status IN ('failed', 'quarantined') AND json_valid(NEW.error)
                             THEN json(NEW.error) END,
               'created_at', NEW.created_at, 'started_at', NEW.started_at, 'finished_at', NEW.finished_at)"""

DELIVERIES: Final = f"""
CREATE TRIGGER outbox_jobs_change AFTER UPDATE OF status ON jobs
WHEN NEW.status <> OLD.status AND EXISTS (SELECT 1 FROM webhooks) AND {UNLESS_REPAIRING}
BEGIN
    INSERT INTO deliveries (webhook_id, lane, url, type, job_id, data, created_at, next_at)
    SELECT w.id, w.id, NULL, t.name, NEW.id, {_DATA}, {_AT}, {_AT}
    FROM event_types AS t JOIN webhooks AS w ON w.kind = 'webhook' AND w.enabled AND w.user_id IN ('', NEW.user_id)
     AND (w.events = '[]' OR EXISTS (SELECT 1 FROM json_each(w.events) WHERE value = t.name))
    WHERE {_EVENT};
    INSERT INTO deliveries (webhook_id, lane, url, type, job_id, data, created_at, next_at)
    SELECT w.id, c.lane, c.url, t.name, NEW.id, {_DATA}, {_AT}, {_AT}
    FROM event_types AS t JOIN callbacks AS c ON c.job_id = NEW.id
    JOIN webhooks AS w ON w.id = c.webhook_id AND w.enabled
    WHERE {_EVENT};
    INSERT INTO alerts (type, subject, message, job_id, at)
    SELECT CASE NEW.status WHEN 'failed' THEN 'job_max_retries_exceeded' ELSE 'quarantined' END,
           coalesce({_PIPELINE}, '#' || NEW.pipeline_id),
           substr(coalesce(CASE WHEN json_valid(NEW.error) THEN json_extract(NEW.error, '$.cause.message') END,
                           NEW.reason, ''), 1, 1000), NEW.id, NEW.changed_at
    WHERE NEW.status IN ('failed', 'quarantined') AND NEW.version <> OLD.version
      AND substr(NEW.actor, 1, 6) IN ('orches', 'keeper', 'doctor') AND {ALERTS};
END;
"""

_WORKER: Final = """
BEGIN
    INSERT INTO alerts (type, subject, message, at)
    SELECT CASE NEW.status WHEN 'offline' THEN 'worker_shutdown' ELSE 'worker_startup' END, NEW.name,
           CASE WHEN NEW.status = 'offline' AND substr(NEW.actor, 1, 6) = 'keeper' THEN 'lost on ' ELSE 'on ' END
           || NEW.hostname, NEW.changed_at;
END;
"""
WORKERS: Final = f"""
CREATE TRIGGER outbox_workers_insert AFTER INSERT ON workers WHEN {ALERTS}{_WORKER}
CREATE TRIGGER outbox_workers_change AFTER UPDATE OF status ON workers
WHEN OLD.status <> NEW.status AND 'offline' IN (OLD.status, NEW.status) AND {ALERTS}{_WORKER}
"""

WEBHOOKS: Final = f"""
CREATE TRIGGER outbox_webhooks_change AFTER UPDATE OF disabled ON webhooks
WHEN OLD.disabled IS NULL AND NEW.disabled IS NOT NULL AND {ALERTS}
BEGIN
    INSERT INTO alerts (type, subject, message, at) VALUES ('endpoint_disabled', NEW.id, NEW.disabled, NEW.changed_at);
END;
"""

SCRIPT: Final = DELIVERIES + WORKERS + WEBHOOKS
