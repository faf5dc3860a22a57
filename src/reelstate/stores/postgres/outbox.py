"""The triggers in PostgreSQL that write deliveries and alerts in the transaction of their event.

Without webhooks, callbacks and alerts, the table `webhooks` is empty and a statement costs one look at it.
"""

from __future__ import annotations

from typing import Final

DELIVERIES: Final = """
CREATE OR REPLACE FUNCTION reelstate.outbox_jobs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM reelstate.webhooks)
       OR current_setting('reelstate.repairing', true) = 'on' THEN
        RETURN NULL;
    END IF;
    WITH event AS (
        SELECT t.name AS type, n.id AS job_id, n.user_id,
               CASE WHEN n.version = o.version THEN clock_timestamp() ELSE n.changed_at END AS at,
               jsonb_build_object('job_id', n.id, 'pipeline', p.name, 'status', n.status, 'user_id', n.user_id,
                   'version', o.version + 1, 'resource_id', n.resource_id, 'reason', n.reason,
                   'error', CASE WHEN n.status IN ('failed', 'quarantined') THEN n.error END,
                   'created_at', extract(epoch FROM n.created_at), 'started_at', extract(epoch FROM n.started_at),
                   'finished_at', extract(epoch FROM n.finished_at)) AS data
        FROM after n
        JOIN before o ON o.id = n.id
        JOIN reelstate.event_types t ON t.target = n.status AND t.origin IN ('', o.status)
         AND (NOT t.resources OR n.resource_id IS NOT NULL)
        LEFT JOIN reelstate.pipelines p ON p.id = n.pipeline_id
        WHERE n.status <> o.status
    )
    INSERT INTO reelstate.deliveries (webhook_id, lane, url, type, job_id, data, created_at, next_at)
    SELECT w.id, w.id, NULL, e.type, e.job_id, e.data, e.at, e.at
    FROM event e JOIN reelstate.webhooks w ON w.kind = 'webhook' AND w.enabled AND w.user_id IN ('', e.user_id)
     AND (w.events = '{}' OR e.type = ANY (w.events))
    UNION ALL
    SELECT w.id, c.lane, c.url, e.type, e.job_id, e.data, e.at, e.at
    FROM event e JOIN reelstate.callbacks c ON c.job_id = e.job_id
    JOIN reelstate.webhooks w ON w.id = c.webhook_id AND w.enabled;
    INSERT INTO reelstate.alerts (type, subject, message, job_id, at)
    SELECT CASE n.status WHEN 'failed' THEN 'job_max_retries_exceeded' ELSE 'quarantined' END,
           coalesce(p.name, '#' || n.pipeline_id),
           left(coalesce(n.error -> 'cause' ->> 'message', n.reason, ''), 1000), n.id, n.changed_at
    FROM after n JOIN before o ON o.id = n.id LEFT JOIN reelstate.pipelines p ON p.id = n.pipeline_id
    WHERE n.status <> o.status AND n.status IN ('failed', 'quarantined')
      AND split_part(n.actor, ':', 1) IN ('orchestrator', 'keeper', 'doctor')
      AND EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER outbox_change AFTER UPDATE ON reelstate.jobs
    REFERENCING OLD TABLE AS before NEW TABLE AS after
    FOR EACH STATEMENT EXECUTE FUNCTION reelstate.outbox_jobs();
"""

WORKERS: Final = """
CREATE OR REPLACE FUNCTION reelstate.outbox_workers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reelstate.alerts (type, subject, message, at)
    SELECT CASE NEW.status WHEN 'offline' THEN 'worker_shutdown' ELSE 'worker_startup' END, NEW.name,
           CASE WHEN NEW.status = 'offline' AND split_part(NEW.actor, ':', 1) = 'keeper' THEN 'lost on ' ELSE 'on ' END
           || NEW.hostname, NEW.changed_at
    WHERE EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER outbox_insert AFTER INSERT ON reelstate.workers
    FOR EACH ROW EXECUTE FUNCTION reelstate.outbox_workers();
CREATE OR REPLACE TRIGGER outbox_change AFTER UPDATE OF status ON reelstate.workers
    FOR EACH ROW WHEN (OLD.status <> NEW.status AND 'offline' IN (OLD.status, NEW.status))
    EXECUTE FUNCTION reelstate.outbox_workers();
"""

WEBHOOKS: Final = """
CREATE OR REPLACE FUNCTION reelstate.outbox_webhooks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reelstate.alerts (type, subject, message, at)
    SELECT 'endpoint_disabled', NEW.id, NEW.disabled, NEW.changed_at
    WHERE EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER outbox_change AFTER UPDATE OF disabled ON reelstate.webhooks
    FOR EACH ROW WHEN (OLD.disabled IS NULL AND NEW.disabled IS NOT NULL)
    EXECUTE FUNCTION reelstate.outbox_webhooks();
"""

SCRIPT: Final = DELIVERIES + WORKERS + WEBHOOKS
