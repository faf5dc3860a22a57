-- Name: reelstate; Type: SCHEMA; Schema: -; Owner: -

CREATE SCHEMA reelstate;

-- Name: audit_stage_reopened(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.audit_stage_reopened() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO reelstate.events (entity, job_id, stage, version, origin, target, actor, data, at)
    VALUES ('stage', NEW.job_id, NEW.stage, NEW.version, 'waiting', 'opened', 'orchestrator',
            jsonb_build_object('total', NEW.total), NEW.opened_at);
    RETURN NULL;
END $$;

-- Name: audit_stages_opened(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.audit_stages_opened() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO reelstate.events (entity, job_id, stage, version, origin, target, actor, data, at)
    SELECT 'stage', job_id, stage, version, NULL, 'opened', 'orchestrator', jsonb_build_object('total', total),
           opened_at
    FROM opened;
    RETURN NULL;
END $$;

-- Name: clear_flag(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.clear_flag() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE reelstate.jobs SET flagged = NULL, flagged_at = NULL WHERE id = NEW.id;
    RETURN NULL;
END $$;

-- Name: end_recording(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.end_recording() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM set_config('reelstate.recorded', '', true);
    RETURN NULL;
END $$;

-- Name: guard_delete(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF 'on' IN (current_setting('reelstate.archiving', true), current_setting('reelstate.repairing', true)) THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'reelstate: rows of % are not deleted by manual SQL', TG_TABLE_NAME USING ERRCODE = 'RS001',
        HINT = CASE WHEN TG_TABLE_NAME IN ('pipelines', 'lanes') THEN 'jobs refer to them'
                    ELSE 'cancel the job; archive moves old rows' END;
END $$;

-- Name: guard_events(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_events() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('reelstate.archiving', true) = 'on' THEN
        RETURN CASE TG_OP WHEN 'UPDATE' THEN NEW ELSE OLD END;
    END IF;
    RAISE EXCEPTION 'reelstate: events are never changed or deleted' USING ERRCODE = 'RS001',
        HINT = 'only archive moves old events';
END $$;

-- Name: guard_jobs_change(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_jobs_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' OR pg_trigger_depth() > 1
       AND NEW.actor = 'sql' AND NEW.status = OLD.status AND NEW.version = OLD.version + 1 THEN
        RETURN NULL;
    END IF;
    IF NOT (NEW.id = OLD.id) OR NEW.version < OLD.version OR NEW.version > OLD.version + 1
       OR NEW.status <> OLD.status AND NEW.version = OLD.version
          AND NOT OLD.status || ' ' || NEW.status = ANY (ARRAY['pending validating', 'pending planning', 'pending downloading_inputs', 'pending processing', 'pending uploading_outputs', 'pending completed', 'validating completed', 'planning completed', 'downloading_inputs completed', 'processing completed', 'uploading_outputs completed', 'validating planning', 'validating downloading_inputs', 'validating processing', 'validating uploading_outputs', 'planning downloading_inputs', 'planning processing', 'planning uploading_outputs', 'downloading_inputs processing', 'downloading_inputs uploading_outputs', 'processing uploading_outputs', 'pending failed', 'validating failed', 'planning failed', 'downloading_inputs failed', 'processing failed', 'uploading_outputs failed', 'pending quarantined', 'validating quarantined', 'planning quarantined', 'downloading_inputs quarantined', 'processing quarantined', 'uploading_outputs quarantined', 'failed quarantined', 'failed pending', 'pending cancelled', 'validating cancelled', 'planning cancelled', 'downloading_inputs cancelled', 'processing cancelled', 'uploading_outputs cancelled', 'failed cancelled', 'quarantined cancelled', 'validating pending', 'planning pending', 'downloading_inputs pending', 'processing pending', 'uploading_outputs pending', 'failed completed', 'quarantined pending', 'quarantined failed', 'quarantined completed'])
       OR NEW.status <> OLD.status AND NOT NEW.version = OLD.version
          AND NOT OLD.status || ' ' || NEW.status || ' ' || split_part(NEW.actor, ':', 1)
              = ANY (ARRAY['pending validating worker', 'pending planning worker', 'pending downloading_inputs worker', 'pending processing worker', 'pending uploading_outputs worker', 'pending completed operator', 'pending completed orchestrator', 'validating completed operator', 'validating completed orchestrator', 'planning completed operator', 'planning completed orchestrator', 'downloading_inputs completed operator', 'downloading_inputs completed orchestrator', 'processing completed operator', 'processing completed orchestrator', 'uploading_outputs completed operator', 'uploading_outputs completed orchestrator', 'validating planning orchestrator', 'validating downloading_inputs orchestrator', 'validating processing orchestrator', 'validating uploading_outputs orchestrator', 'planning downloading_inputs orchestrator', 'planning processing orchestrator', 'planning uploading_outputs orchestrator', 'downloading_inputs processing orchestrator', 'downloading_inputs uploading_outputs orchestrator', 'processing uploading_outputs orchestrator', 'pending failed keeper', 'pending failed operator', 'pending failed orchestrator', 'validating failed keeper', 'validating failed operator', 'validating failed orchestrator', 'planning failed keeper', 'planning failed operator', 'planning failed orchestrator', 'downloading_inputs failed keeper', 'downloading_inputs failed operator', 'downloading_inputs failed orchestrator', 'processing failed keeper', 'processing failed operator', 'processing failed orchestrator', 'uploading_outputs failed keeper', 'uploading_outputs failed operator', 'uploading_outputs failed orchestrator', 'pending quarantined doctor', 'pending quarantined keeper', 'pending quarantined operator', 'validating quarantined doctor', 'validating quarantined keeper', 'validating quarantined operator', 'planning quarantined doctor', 'planning quarantined keeper', 'planning quarantined operator', 'downloading_inputs quarantined doctor', 'downloading_inputs quarantined keeper', 'downloading_inputs quarantined operator', 'processing quarantined doctor', 'processing quarantined keeper', 'processing quarantined operator', 'uploading_outputs quarantined doctor', 'uploading_outputs quarantined keeper', 'uploading_outputs quarantined operator', 'failed quarantined doctor', 'failed quarantined operator', 'failed pending operator', 'failed pending user', 'pending cancelled operator', 'pending cancelled orchestrator', 'pending cancelled user', 'validating cancelled operator', 'validating cancelled user', 'planning cancelled operator', 'planning cancelled user', 'downloading_inputs cancelled operator', 'downloading_inputs cancelled user', 'processing cancelled operator', 'processing cancelled user', 'uploading_outputs cancelled operator', 'uploading_outputs cancelled user', 'failed cancelled operator', 'failed cancelled user', 'quarantined cancelled operator', 'quarantined cancelled user', 'validating pending operator', 'planning pending operator', 'downloading_inputs pending operator', 'processing pending operator', 'uploading_outputs pending operator', 'failed completed operator', 'quarantined pending operator', 'quarantined failed operator', 'quarantined completed operator']) THEN
        PERFORM reelstate.refuse('job', (NEW.id)::text, OLD.status, NEW.status,
                                 CASE WHEN NEW.version = OLD.version THEN 'sql' ELSE NEW.actor END);
    END IF;
    INSERT INTO reelstate.events (entity, job_id, data, version, origin, target, actor, reason, at)
    VALUES ('job', NEW.id, CASE WHEN NEW.status IN ('failed', 'quarantined') THEN NEW.error END, OLD.version + 1, OLD.status, NEW.status,
            CASE WHEN NEW.version = OLD.version THEN 'sql' ELSE NEW.actor END,
            CASE WHEN NOT NEW.version = OLD.version THEN NEW.reason END,
            CASE WHEN NEW.version = OLD.version THEN clock_timestamp() ELSE NEW.changed_at END);
    IF NEW.version = OLD.version THEN
        UPDATE reelstate.jobs
        SET version = OLD.version + 1, actor = 'sql', reason = NULL, changed_at = clock_timestamp()
        WHERE id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

-- Name: guard_jobs_insert(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_jobs_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status NOT IN ('pending') OR NEW.version <> 1 THEN
        PERFORM reelstate.refuse('job', (NEW.id)::text, NULL, NEW.status, NEW.actor);
    END IF;
    INSERT INTO reelstate.events (entity, job_id, version, origin, target, actor, reason, at)
    VALUES ('job', NEW.id, 1, NULL, NEW.status, NEW.actor, NEW.reason, NEW.changed_at);
    RETURN NULL;
END $$;

-- Name: guard_pipelines(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_pipelines() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'reelstate: % are never changed', TG_TABLE_NAME USING ERRCODE = 'RS001',
        HINT = 'declare another version; jobs run the graph they were submitted with';
END $$;

-- Name: guard_tasks_change(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_tasks_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' OR pg_trigger_depth() > 1
       AND NEW.actor = 'sql' AND NEW.status = OLD.status AND NEW.version = OLD.version + 1 THEN
        RETURN NULL;
    END IF;
    IF NOT (NEW.job_id = OLD.job_id AND NEW.stage = OLD.stage AND NEW.part = OLD.part) OR NEW.version < OLD.version OR NEW.token < OLD.token OR NEW.attempt < OLD.attempt - 1 OR NEW.version > OLD.version + 1
       OR NEW.status <> OLD.status AND NEW.version = OLD.version
          AND NOT OLD.status || ' ' || NEW.status = ANY (ARRAY['new ready', 'new skipped', 'ready running', 'ready new', 'running done', 'running error', 'running skipped', 'ready done', 'ready skipped', 'running ready', 'running new', 'error ready', 'error new', 'done ready', 'done new', 'skipped ready', 'skipped new', 'new cancelled', 'ready cancelled', 'running cancelled', 'error cancelled'])
       OR NEW.status <> OLD.status AND NOT NEW.version = OLD.version
          AND NOT OLD.status || ' ' || NEW.status || ' ' || split_part(NEW.actor, ':', 1)
              = ANY (ARRAY['new ready operator', 'new ready orchestrator', 'new ready user', 'new skipped orchestrator', 'ready running worker', 'ready new doctor', 'ready new keeper', 'ready new operator', 'ready new orchestrator', 'ready new user', 'running done worker', 'running error keeper', 'running error worker', 'running skipped worker', 'ready done worker', 'ready skipped worker', 'running ready doctor', 'running ready keeper', 'running ready operator', 'running ready worker', 'running new doctor', 'running new keeper', 'running new operator', 'running new worker', 'error ready operator', 'error ready orchestrator', 'error ready user', 'error new doctor', 'error new keeper', 'error new operator', 'error new orchestrator', 'error new user', 'done ready operator', 'done ready user', 'done new operator', 'done new user', 'skipped ready operator', 'skipped ready user', 'skipped new operator', 'skipped new user', 'new cancelled operator', 'new cancelled user', 'ready cancelled operator', 'ready cancelled user', 'running cancelled keeper', 'running cancelled operator', 'running cancelled user', 'error cancelled operator', 'error cancelled user']) THEN
        PERFORM reelstate.refuse('task', (NEW.job_id || '/' || NEW.stage || '/' || NEW.part)::text, OLD.status, NEW.status,
                                 CASE WHEN NEW.version = OLD.version THEN 'sql' ELSE NEW.actor END);
    END IF;
    INSERT INTO reelstate.events (entity, job_id, stage, part, token, worker_id, data, version, origin, target, actor, reason, at)
    VALUES ('task', NEW.job_id, NEW.stage, NEW.part, NEW.token, NEW.last_worker, CASE WHEN NEW.status = 'error' THEN NEW.error WHEN NEW.status = 'ready' AND NEW.lane < 0 THEN jsonb_build_object('isolated', true, 'lost', NEW.lost) END, OLD.version + 1, OLD.status, NEW.status,
            CASE WHEN NEW.version = OLD.version THEN 'sql' ELSE NEW.actor END,
            CASE WHEN NOT NEW.version = OLD.version THEN NEW.reason END,
            CASE WHEN NEW.version = OLD.version THEN clock_timestamp() ELSE NEW.changed_at END);
    IF NEW.version = OLD.version THEN
        UPDATE reelstate.tasks
        SET version = OLD.version + 1, actor = 'sql', reason = NULL, changed_at = clock_timestamp()
        WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part;
    END IF;
    RETURN NULL;
END $$;

-- Name: guard_tasks_insert(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_tasks_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM reelstate.refuse('task', (NEW.job_id || '/' || NEW.stage || '/' || NEW.part)::text, NULL, NEW.status, NEW.actor);
    RETURN NULL;
END $$;

-- Name: guard_workers_change(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_workers_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' OR pg_trigger_depth() > 1
       AND NEW.actor = 'sql' AND NEW.status = OLD.status AND NEW.version = OLD.version + 1 THEN
        RETURN NULL;
    END IF;
    IF NOT (NEW.id = OLD.id) OR NEW.version < OLD.version OR NEW.version > OLD.version + 1
       OR NEW.status <> OLD.status AND NEW.version = OLD.version
          AND NOT OLD.status || ' ' || NEW.status = ANY (ARRAY['active draining', 'draining active', 'active offline', 'draining offline', 'offline active'])
       OR NEW.status <> OLD.status AND NOT NEW.version = OLD.version
          AND NOT OLD.status || ' ' || NEW.status || ' ' || split_part(NEW.actor, ':', 1)
              = ANY (ARRAY['active draining operator', 'active draining worker', 'draining active operator', 'active offline keeper', 'active offline worker', 'draining offline keeper', 'draining offline worker', 'offline active worker']) THEN
        PERFORM reelstate.refuse('worker', (NEW.id)::text, OLD.status, NEW.status,
                                 CASE WHEN NEW.version = OLD.version THEN 'sql' ELSE NEW.actor END);
    END IF;
    INSERT INTO reelstate.events (entity, worker_id, data, version, origin, target, actor, reason, at)
    VALUES ('worker', NEW.id, NULL::jsonb, OLD.version + 1, OLD.status, NEW.status,
            CASE WHEN NEW.version = OLD.version THEN 'sql' ELSE NEW.actor END,
            CASE WHEN NOT NEW.version = OLD.version THEN NEW.reason END,
            CASE WHEN NEW.version = OLD.version THEN clock_timestamp() ELSE NEW.changed_at END);
    IF NEW.version = OLD.version THEN
        UPDATE reelstate.workers
        SET version = OLD.version + 1, actor = 'sql', reason = NULL, changed_at = clock_timestamp()
        WHERE id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

-- Name: guard_workers_insert(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.guard_workers_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.status NOT IN ('active') OR NEW.version <> 1 THEN
        PERFORM reelstate.refuse('worker', (NEW.id)::text, NULL, NEW.status, NEW.actor);
    END IF;
    INSERT INTO reelstate.events (entity, worker_id, version, origin, target, actor, reason, at)
    VALUES ('worker', NEW.id, 1, NULL, NEW.status, NEW.actor, NEW.reason, NEW.changed_at);
    RETURN NULL;
END $$;

-- Name: limit_arrive(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.limit_arrive() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM reelstate.limits m LEFT JOIN reelstate.lanes l ON l.id = abs(NEW.lane)
               WHERE m.removed_at IS NULL AND (m.pipeline IS NULL OR m.pipeline = l.pipeline)) THEN
        UPDATE reelstate.tasks SET lane = lane + sign(lane)::integer * 268435456
        WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND lane BETWEEN -268435455 AND 268435455;
    ELSIF NEW.queue IS NOT NULL THEN
        UPDATE reelstate.tasks SET queue = NULL WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part;
    END IF;
    RETURN NULL;
END $$;

-- Name: limit_end(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.limit_end() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO reelstate.limit_ended (queue) VALUES (OLD.queue);
    DELETE FROM reelstate.limit_starts
    WHERE job_id = OLD.job_id AND stage = OLD.stage AND part = OLD.part AND at IS NULL;
    RETURN NULL;
END $$;

-- Name: limit_start(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.limit_start() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE reelstate.limit_starts SET at = NEW.claimed_at
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND at IS NULL;
    RETURN NULL;
END $$;

-- Name: move_priority(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.move_priority() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    change text := 'priority ' || OLD.priority || ' to ' || NEW.priority;
BEGIN
    IF current_setting('reelstate.repairing', true) = 'on' THEN
        RETURN NULL;
    END IF;
    UPDATE reelstate.tasks SET priority = NEW.priority
    WHERE job_id = NEW.id AND priority <> NEW.priority;
    IF NEW.version = OLD.version AND NEW.status = OLD.status THEN
        INSERT INTO reelstate.events (entity, job_id, version, origin, target, actor, reason, at)
        VALUES ('job', NEW.id, OLD.version + 1, OLD.status, NEW.status, 'sql', change, clock_timestamp());
        UPDATE reelstate.jobs
        SET version = OLD.version + 1, actor = 'sql', reason = change, changed_at = clock_timestamp()
        WHERE id = NEW.id;
    END IF;
    RETURN NULL;
END $$;

-- Name: new_id(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.new_id() RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT (floor(extract(epoch FROM clock_timestamp()))::bigint - 1735689600) << 22
           | (nextval('reelstate.ids') & 4194303)
$$;

-- Name: note_ending(bigint, text); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.note_ending(job bigint, ended text) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    UPDATE reelstate.group_jobs SET outcome = ended WHERE job_id = job;
    IF FOUND OR EXISTS (SELECT FROM reelstate.dependencies d JOIN reelstate.waits w ON w.job_id = d.job_id
                        WHERE d.kind = 'job' AND d.target = job AND w.ended_at IS NULL) THEN
        INSERT INTO reelstate.ended_jobs (job_id, active) VALUES (job, ended IS NULL);
    END IF;
END $$;

-- Name: note_endings(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.note_endings() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT FROM reelstate.group_jobs) OR EXISTS (SELECT FROM reelstate.waits) THEN
        PERFORM reelstate.note_ending(n.id, CASE WHEN n.status IN ('failed', 'quarantined', 'completed', 'cancelled') THEN n.status END)
        FROM after n JOIN before o ON o.id = n.id
        WHERE n.status <> o.status AND (n.status IN ('failed', 'quarantined', 'completed', 'cancelled') OR o.status IN ('failed', 'quarantined', 'completed', 'cancelled'));
    END IF;
    RETURN NULL;
END $$;

-- Name: outbox_jobs(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.outbox_jobs() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

-- Name: outbox_webhooks(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.outbox_webhooks() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO reelstate.alerts (type, subject, message, at)
    SELECT 'endpoint_disabled', NEW.id, NEW.disabled, NEW.changed_at
    WHERE EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert');
    RETURN NULL;
END $$;

-- Name: outbox_workers(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.outbox_workers() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO reelstate.alerts (type, subject, message, at)
    SELECT CASE NEW.status WHEN 'offline' THEN 'worker_shutdown' ELSE 'worker_startup' END, NEW.name,
           CASE WHEN NEW.status = 'offline' AND split_part(NEW.actor, ':', 1) = 'keeper' THEN 'lost on ' ELSE 'on ' END
           || NEW.hostname, NEW.changed_at
    WHERE EXISTS (SELECT FROM reelstate.webhooks WHERE kind = 'alert');
    RETURN NULL;
END $$;

-- Name: real_lane(integer); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.real_lane(given integer) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT sign(given)::integer * CASE
        WHEN low < 268435456 THEN low
        WHEN low < 536870912 THEN low - 268435456
        ELSE (SELECT q.lane FROM reelstate.limit_queues q WHERE q.id = low) END
    FROM (SELECT CASE WHEN abs(given) > 1073741824 THEN abs(given) - 1073741824 ELSE abs(given) END AS low) AS part
$$;

-- Name: refuse(text, text, text, text, text); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.refuse(entity text, key text, origin text, target text, actor text) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'reelstate: % %: % -> % is not allowed for %',
        entity, key, coalesce(origin, 'insert'), target, actor
        USING ERRCODE = 'RS001', HINT = 'the state machines are drawn in docs/lifecycle.md';
END $$;

-- Name: unpark(); Type: FUNCTION; Schema: reelstate; Owner: -

CREATE FUNCTION reelstate.unpark() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE reelstate.tasks SET lane = coalesce(reelstate.real_lane(lane), lane)
    WHERE job_id = NEW.job_id AND stage = NEW.stage AND part = NEW.part AND (lane > 268435456 OR lane < -268435456);
    RETURN NULL;
END $$;

-- Name: alert_cooldowns; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.alert_cooldowns (
    type text NOT NULL,
    subject text NOT NULL,
    sent_at timestamp with time zone NOT NULL
);

-- Name: alerts; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.alerts (
    id bigint NOT NULL,
    type text NOT NULL,
    subject text NOT NULL,
    message text NOT NULL,
    job_id bigint,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    folded_at timestamp with time zone
);

-- Name: alerts_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.alerts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.alerts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: callbacks; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.callbacks (
    job_id bigint NOT NULL,
    webhook_id text NOT NULL,
    url text NOT NULL,
    lane text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: deliveries; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.deliveries (
    id bigint NOT NULL,
    webhook_id text NOT NULL,
    lane text NOT NULL,
    url text,
    type text NOT NULL,
    job_id bigint,
    once text,
    data jsonb NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    token integer DEFAULT 0 NOT NULL,
    leased boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    next_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    CONSTRAINT deliveries_leased CHECK (((NOT leased) OR (status = 'pending'::text))),
    CONSTRAINT deliveries_status CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])))
)
WITH (fillfactor='80');

-- Name: deliveries_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.deliveries ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: delivery_attempts; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.delivery_attempts (
    delivery_id bigint NOT NULL,
    token integer NOT NULL,
    at timestamp with time zone NOT NULL,
    seconds double precision NOT NULL,
    status integer,
    failure text,
    response text
);

-- Name: dependencies; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.dependencies (
    job_id bigint NOT NULL,
    kind text NOT NULL,
    target bigint NOT NULL,
    CONSTRAINT dependencies_kind CHECK ((kind = ANY (ARRAY['job'::text, 'group'::text])))
);

-- Name: ended_jobs; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.ended_jobs (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    active boolean DEFAULT false NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL
);

-- Name: ended_jobs_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.ended_jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.ended_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: event_types; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.event_types (
    name text NOT NULL,
    origin text DEFAULT ''::text NOT NULL,
    target text NOT NULL,
    resources boolean DEFAULT false NOT NULL
);

-- Name: events; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.events (
    id bigint NOT NULL,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    entity text NOT NULL,
    job_id bigint,
    stage smallint DEFAULT '-1'::integer NOT NULL,
    part integer DEFAULT '-1'::integer NOT NULL,
    worker_id bigint,
    version integer NOT NULL,
    token bigint,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    origin text,
    target text NOT NULL,
    actor text NOT NULL,
    reason text,
    data jsonb,
    job_version integer,
    job_origin text,
    job_target text,
    CONSTRAINT events_entity CHECK ((entity = ANY (ARRAY['job'::text, 'stage'::text, 'task'::text, 'worker'::text, 'finding'::text, 'task+job'::text, 'job+stage'::text])))
);

-- Name: events_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.events_archive (
    id bigint CONSTRAINT events_id_not_null NOT NULL,
    xid xid8 CONSTRAINT events_xid_not_null NOT NULL,
    entity text CONSTRAINT events_entity_not_null NOT NULL,
    job_id bigint NOT NULL,
    stage smallint CONSTRAINT events_stage_not_null NOT NULL,
    part integer CONSTRAINT events_part_not_null NOT NULL,
    worker_id bigint,
    version integer CONSTRAINT events_version_not_null NOT NULL,
    token bigint,
    at timestamp with time zone CONSTRAINT events_at_not_null NOT NULL,
    origin text,
    target text CONSTRAINT events_target_not_null NOT NULL,
    actor text CONSTRAINT events_actor_not_null NOT NULL,
    reason text,
    data jsonb,
    job_version integer,
    job_origin text,
    job_target text
)
PARTITION BY RANGE (job_id);

-- Name: events_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.events_id_seq
    START WITH 1
    INCREMENT BY 2
    NO MINVALUE
    NO MAXVALUE
    CACHE 500
);

-- Name: facts; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.facts (
    name text NOT NULL,
    value text NOT NULL
);

-- Name: findings; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.findings (
    name text NOT NULL,
    job_id bigint NOT NULL,
    stage smallint NOT NULL,
    part integer NOT NULL,
    subject text NOT NULL,
    found_at timestamp with time zone NOT NULL
);

-- Name: group_jobs; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.group_jobs (
    job_id bigint NOT NULL,
    group_id bigint NOT NULL,
    outcome text,
    CONSTRAINT group_jobs_outcome CHECK (((outcome IS NULL) OR (outcome = ANY (ARRAY['completed'::text, 'failed'::text, 'quarantined'::text, 'cancelled'::text]))))
);

-- Name: groups; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.groups (
    id bigint NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    name text NOT NULL,
    jobs integer DEFAULT 0 NOT NULL,
    round integer DEFAULT 1 NOT NULL,
    callback_id text,
    callback_url text,
    callback_lane text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone
);

-- Name: history; Type: VIEW; Schema: reelstate; Owner: -

CREATE VIEW reelstate.history AS
 SELECT e.xid,
    (e.id -
        CASE
            WHEN ((half.n = 0) AND (e.entity = ANY (ARRAY['task+job'::text, 'job+stage'::text]))) THEN 1
            ELSE 0
        END) AS id,
        CASE e.entity
            WHEN 'task+job'::text THEN
            CASE half.n
                WHEN 0 THEN 'task'::text
                ELSE 'job'::text
            END
            WHEN 'job+stage'::text THEN
            CASE half.n
                WHEN 0 THEN 'job'::text
                ELSE 'stage'::text
            END
            ELSE e.entity
        END AS entity,
    e.job_id,
        CASE
            WHEN (half.n = 0) THEN (e.stage)::integer
            WHEN (e.entity = 'job+stage'::text) THEN 0
            ELSE '-1'::integer
        END AS stage,
        CASE
            WHEN (half.n = 0) THEN e.part
            ELSE '-1'::integer
        END AS part,
        CASE
            WHEN (half.n = 0) THEN e.worker_id
            ELSE NULL::bigint
        END AS worker_id,
        CASE
            WHEN (half.n = 0) THEN e.version
            WHEN (e.entity = 'job+stage'::text) THEN 1
            ELSE e.job_version
        END AS version,
        CASE
            WHEN (half.n = 0) THEN e.token
            ELSE NULL::bigint
        END AS token,
    e.at,
        CASE
            WHEN (half.n = 0) THEN e.origin
            ELSE e.job_origin
        END AS origin,
        CASE
            WHEN (half.n = 0) THEN e.target
            WHEN (e.entity = 'job+stage'::text) THEN 'opened'::text
            ELSE e.job_target
        END AS target,
        CASE
            WHEN ((half.n = 1) AND ((e.entity = 'job+stage'::text) OR (e.job_target = 'completed'::text))) THEN 'orchestrator'::text
            ELSE e.actor
        END AS actor,
        CASE
            WHEN (half.n = 0) THEN e.reason
            ELSE NULL::text
        END AS reason,
        CASE
            WHEN (half.n = 0) THEN e.data
            WHEN (e.entity = 'job+stage'::text) THEN '{"total": 1}'::jsonb
            ELSE NULL::jsonb
        END AS data
   FROM (reelstate.events e
     JOIN ( SELECT 0 AS n
        UNION ALL
         SELECT 1) half ON (((half.n = 0) OR (e.entity = ANY (ARRAY['task+job'::text, 'job+stage'::text])))));

-- Name: idempotency; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.idempotency (
    user_id text NOT NULL,
    key text NOT NULL,
    digest text NOT NULL,
    job_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: ids; Type: SEQUENCE; Schema: reelstate; Owner: -

CREATE SEQUENCE reelstate.ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- Name: jobs; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.jobs (
    id bigint NOT NULL,
    pipeline_id integer NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    phase text DEFAULT 'processing'::text NOT NULL,
    priority smallint DEFAULT 5 NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    actor text DEFAULT 'sql'::text NOT NULL,
    reason text,
    run_after timestamp with time zone,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    finished_at timestamp with time zone,
    inconsistent text,
    spec jsonb DEFAULT '{}'::jsonb NOT NULL,
    error jsonb,
    degraded jsonb,
    resource_id bigint,
    request bigint,
    flagged text,
    flagged_at timestamp with time zone,
    trace text,
    CONSTRAINT jobs_numbers CHECK (((priority >= 0) AND (priority <= 10) AND (version >= 1) AND (phase = ANY (ARRAY['processing'::text, 'validating'::text, 'planning'::text, 'downloading_inputs'::text, 'uploading_outputs'::text])))),
    CONSTRAINT jobs_state CHECK (
CASE
    WHEN (status = ANY (ARRAY['completed'::text, 'failed'::text, 'quarantined'::text, 'cancelled'::text])) THEN (finished_at IS NOT NULL)
    ELSE ((finished_at IS NULL) AND (status = ANY (ARRAY['pending'::text, 'processing'::text, 'validating'::text, 'planning'::text, 'downloading_inputs'::text, 'uploading_outputs'::text])))
END),
    CONSTRAINT jobs_times CHECK ((finished_at >= started_at))
)
WITH (fillfactor='80');

-- Name: jobs_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.jobs_archive (
    id bigint CONSTRAINT jobs_id_not_null NOT NULL,
    pipeline_id integer CONSTRAINT jobs_pipeline_id_not_null NOT NULL,
    user_id text CONSTRAINT jobs_user_id_not_null NOT NULL,
    status text CONSTRAINT jobs_status_not_null NOT NULL,
    phase text CONSTRAINT jobs_phase_not_null NOT NULL,
    priority smallint CONSTRAINT jobs_priority_not_null NOT NULL,
    version integer CONSTRAINT jobs_version_not_null NOT NULL,
    actor text CONSTRAINT jobs_actor_not_null NOT NULL,
    reason text,
    run_after timestamp with time zone,
    created_at timestamp with time zone CONSTRAINT jobs_created_at_not_null NOT NULL,
    started_at timestamp with time zone,
    changed_at timestamp with time zone CONSTRAINT jobs_changed_at_not_null NOT NULL,
    finished_at timestamp with time zone,
    inconsistent text,
    spec jsonb CONSTRAINT jobs_spec_not_null NOT NULL,
    error jsonb,
    degraded jsonb,
    resource_id bigint,
    request bigint,
    flagged text,
    flagged_at timestamp with time zone,
    trace text
)
PARTITION BY RANGE (id);

-- Name: keeper; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.keeper (
    singleton boolean DEFAULT true NOT NULL,
    leader text,
    lead_renewed_at timestamp with time zone,
    lead_seconds double precision DEFAULT 0 NOT NULL,
    seen_at timestamp with time zone,
    swept_at timestamp with time zone,
    grace_started_at timestamp with time zone,
    grace_until timestamp with time zone,
    grace_seconds double precision DEFAULT 0 NOT NULL,
    findings integer DEFAULT 0 NOT NULL,
    gap_since timestamp with time zone,
    CONSTRAINT keeper_singleton_check CHECK (singleton)
);

-- Name: keys; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.keys (
    id text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    scopes text[] NOT NULL,
    digest text NOT NULL,
    parent text,
    actor text DEFAULT 'sql'::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone,
    CONSTRAINT keys_kind CHECK ((kind = ANY (ARRAY['key'::text, 'session'::text, 'code'::text])))
);

-- Name: lanes; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.lanes (
    id integer NOT NULL,
    pipeline text NOT NULL,
    needs text[] NOT NULL,
    prefers text[] NOT NULL
);

-- Name: lanes_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.lanes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.lanes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: limit_ended; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.limit_ended (
    id bigint NOT NULL,
    queue integer NOT NULL
);

-- Name: limit_ended_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.limit_ended ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.limit_ended_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: limit_keys; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.limit_keys (
    id bigint NOT NULL,
    limit_id integer NOT NULL,
    key text NOT NULL,
    admitted integer DEFAULT 0 NOT NULL,
    queues integer DEFAULT 0 NOT NULL,
    retry_at timestamp with time zone,
    CONSTRAINT limit_keys_admitted CHECK ((admitted >= 0))
);

-- Name: limit_keys_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.limit_keys ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.limit_keys_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: limit_queues; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.limit_queues (
    id integer NOT NULL,
    lane integer NOT NULL,
    keys bigint[] NOT NULL,
    turn double precision DEFAULT 0 NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    waiting boolean DEFAULT false NOT NULL,
    blocked_by bigint
);

-- Name: limit_queues_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.limit_queues ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.limit_queues_id_seq
    START WITH 536870913
    INCREMENT BY 1
    NO MINVALUE
    MAXVALUE 1073741823
    CACHE 1
);

-- Name: limit_starts; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.limit_starts (
    key bigint NOT NULL,
    job_id bigint NOT NULL,
    stage smallint NOT NULL,
    part integer NOT NULL,
    at timestamp with time zone
);

-- Name: limits; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.limits (
    id integer NOT NULL,
    name text NOT NULL,
    pipeline text,
    stage text,
    user_id text,
    per text,
    running integer,
    starts integer,
    period double precision,
    weights jsonb DEFAULT '{}'::jsonb NOT NULL,
    declared boolean DEFAULT false NOT NULL,
    reason text,
    actor text DEFAULT 'sql'::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    removed_at timestamp with time zone,
    settled_at timestamp with time zone,
    CONSTRAINT limits_period CHECK ((period > (0)::double precision)),
    CONSTRAINT limits_rate CHECK (((starts IS NULL) = (period IS NULL))),
    CONSTRAINT limits_running CHECK ((running >= 1)),
    CONSTRAINT limits_starts CHECK ((starts >= 1))
);

-- Name: limits_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.limits ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.limits_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: logs; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.logs (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    stage smallint NOT NULL,
    part integer NOT NULL,
    token bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    level text NOT NULL,
    message text NOT NULL,
    metadata jsonb,
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL
);

-- Name: logs_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.logs_archive (
    id bigint CONSTRAINT logs_id_not_null NOT NULL,
    job_id bigint CONSTRAINT logs_job_id_not_null NOT NULL,
    stage smallint CONSTRAINT logs_stage_not_null NOT NULL,
    part integer CONSTRAINT logs_part_not_null NOT NULL,
    token bigint CONSTRAINT logs_token_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT logs_at_not_null NOT NULL,
    level text CONSTRAINT logs_level_not_null NOT NULL,
    message text CONSTRAINT logs_message_not_null NOT NULL,
    metadata jsonb,
    xid xid8 CONSTRAINT logs_xid_not_null NOT NULL
)
PARTITION BY RANGE (job_id);

-- Name: logs_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.logs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.logs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: migrations; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.migrations (
    number integer NOT NULL,
    name text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: stages; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.stages (
    job_id bigint NOT NULL,
    stage smallint NOT NULL,
    open boolean DEFAULT true NOT NULL,
    sole boolean DEFAULT false NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    total integer NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    skipped integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    CONSTRAINT stages_counters CHECK (((total >= 0) AND (done >= 0) AND (skipped >= 0) AND (failed >= 0) AND (((done + skipped) + failed) <= total)))
)
WITH (fillfactor='70');

-- Name: tasks; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.tasks (
    job_id bigint NOT NULL,
    stage smallint NOT NULL,
    priority smallint DEFAULT 5 NOT NULL,
    part integer NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    lane integer NOT NULL,
    token bigint DEFAULT 0 NOT NULL,
    last_worker bigint,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    max_attempts smallint DEFAULT 3 NOT NULL,
    lost smallint DEFAULT 0 NOT NULL,
    lost_alone smallint DEFAULT 0 NOT NULL,
    status text DEFAULT 'new'::text NOT NULL,
    actor text DEFAULT 'sql'::text NOT NULL,
    reason text,
    worker_id bigint,
    lease_expires_at timestamp with time zone,
    run_after timestamp with time zone,
    ready_at timestamp with time zone,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    progress_at timestamp with time zone,
    finished_at timestamp with time zone,
    lease real DEFAULT 60 NOT NULL,
    stall_after real,
    timeout real,
    percent real DEFAULT 0 NOT NULL,
    max_lost smallint DEFAULT 3 NOT NULL,
    alone boolean DEFAULT false NOT NULL,
    step text,
    message text,
    input jsonb,
    checkpoint jsonb,
    result jsonb,
    error jsonb,
    isolate_after smallint DEFAULT 2 NOT NULL,
    flag_after real,
    sole boolean DEFAULT false NOT NULL,
    queue integer,
    CONSTRAINT tasks_numbers CHECK (((attempt >= 0) AND (attempt <= max_attempts) AND (lost_alone >= 0) AND (lost_alone <= lost) AND (part >= 0) AND (stage >= 0) AND (priority >= 0) AND (priority <= 10) AND (version >= 1) AND (token >= 0) AND (percent >= (0)::double precision) AND (percent <= (100)::double precision) AND (lane <> 0))),
    CONSTRAINT tasks_state CHECK (
CASE status
    WHEN 'ready'::text THEN ((worker_id IS NULL) AND (lease_expires_at IS NULL) AND (finished_at IS NULL) AND (run_after IS NULL) AND (ready_at IS NOT NULL))
    WHEN 'running'::text THEN ((worker_id IS NOT NULL) AND (lease_expires_at IS NOT NULL) AND (finished_at IS NULL) AND (run_after IS NULL))
    WHEN 'error'::text THEN ((worker_id IS NULL) AND (lease_expires_at IS NULL) AND ((finished_at IS NULL) = (run_after IS NOT NULL)))
    WHEN 'new'::text THEN ((worker_id IS NULL) AND (lease_expires_at IS NULL) AND (finished_at IS NULL))
    ELSE ((status = ANY (ARRAY['done'::text, 'skipped'::text, 'cancelled'::text])) AND (worker_id IS NULL) AND (lease_expires_at IS NULL) AND (finished_at IS NOT NULL) AND (run_after IS NULL))
END),
    CONSTRAINT tasks_times CHECK ((finished_at >= started_at))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_cost_delay='0', autovacuum_analyze_scale_factor='0.05');

-- Name: opened_stages; Type: VIEW; Schema: reelstate; Owner: -

CREATE VIEW reelstate.opened_stages AS
 SELECT stages.job_id,
    stages.stage,
    stages.open,
    stages.sole,
    stages.version,
    stages.total,
    stages.done,
    stages.skipped,
    stages.failed,
    stages.opened_at
   FROM reelstate.stages
UNION ALL
 SELECT t.job_id,
    t.stage,
    true AS open,
    true AS sole,
    1 AS version,
    1 AS total,
        CASE
            WHEN (t.status = 'done'::text) THEN 1
            ELSE 0
        END AS done,
        CASE
            WHEN (t.status = 'skipped'::text) THEN 1
            ELSE 0
        END AS skipped,
        CASE
            WHEN ((t.status = 'error'::text) AND (t.run_after IS NULL)) THEN 1
            ELSE 0
        END AS failed,
    ( SELECT j.created_at
           FROM reelstate.jobs j
          WHERE (j.id = t.job_id)) AS opened_at
   FROM reelstate.tasks t
  WHERE t.sole;

-- Name: pauses; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.pauses (
    id bigint NOT NULL,
    scope text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    stage text DEFAULT ''::text NOT NULL,
    reason text,
    actor text DEFAULT 'sql'::text NOT NULL,
    paused_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    resumed_at timestamp with time zone,
    resumed_by text,
    resumed_reason text,
    settled_at timestamp with time zone,
    CONSTRAINT pauses_scope CHECK ((scope = ANY (ARRAY['all'::text, 'pipeline'::text, 'stage'::text, 'user'::text, 'worker'::text])))
);

-- Name: pauses_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.pauses ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.pauses_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: pipelines; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.pipelines (
    id integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    graph jsonb NOT NULL,
    declared_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    pinned boolean DEFAULT false NOT NULL
);

-- Name: pipelines_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.pipelines ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.pipelines_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: removed_versions; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.removed_versions (
    job_id bigint NOT NULL,
    video_id bigint NOT NULL,
    removed_at timestamp with time zone NOT NULL,
    swept_at timestamp with time zone
);

-- Name: schedule_runs; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.schedule_runs (
    schedule_id bigint NOT NULL,
    key text NOT NULL,
    tick timestamp with time zone NOT NULL,
    source text NOT NULL,
    outcome text NOT NULL,
    job_id bigint,
    reason text,
    active boolean DEFAULT false NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT schedule_runs_outcome CHECK ((outcome = ANY (ARRAY['submitted'::text, 'queued'::text, 'skipped'::text, 'missed'::text, 'failed'::text]))),
    CONSTRAINT schedule_runs_source CHECK ((source = ANY (ARRAY['tick'::text, 'trigger'::text, 'backfill'::text])))
);

-- Name: schedules; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.schedules (
    id bigint NOT NULL,
    name text NOT NULL,
    pipeline text NOT NULL,
    spec jsonb NOT NULL,
    priority smallint NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    timing text NOT NULL,
    timezone text DEFAULT 'UTC'::text NOT NULL,
    overlap text DEFAULT 'skip'::text NOT NULL,
    catch_up text DEFAULT 'latest'::text NOT NULL,
    catch_up_window double precision DEFAULT 86400 NOT NULL,
    jitter double precision DEFAULT 0 NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    starts_at timestamp with time zone,
    ends_at timestamp with time zone,
    next_tick timestamp with time zone,
    next_run_at timestamp with time zone,
    version integer DEFAULT 1 NOT NULL,
    actor text DEFAULT 'sql'::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT schedules_catch_up CHECK ((catch_up = ANY (ARRAY['latest'::text, 'all'::text, 'none'::text]))),
    CONSTRAINT schedules_overlap CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue_one'::text, 'queue_all'::text, 'cancel_other'::text, 'allow'::text])))
);

-- Name: secrets; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.secrets (
    name text NOT NULL,
    secret text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: stages_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.stages_archive (
    job_id bigint CONSTRAINT stages_job_id_not_null NOT NULL,
    stage smallint CONSTRAINT stages_stage_not_null NOT NULL,
    open boolean CONSTRAINT stages_open_not_null NOT NULL,
    sole boolean CONSTRAINT stages_sole_not_null NOT NULL,
    version integer CONSTRAINT stages_version_not_null NOT NULL,
    total integer CONSTRAINT stages_total_not_null NOT NULL,
    done integer CONSTRAINT stages_done_not_null NOT NULL,
    skipped integer CONSTRAINT stages_skipped_not_null NOT NULL,
    failed integer CONSTRAINT stages_failed_not_null NOT NULL,
    opened_at timestamp with time zone CONSTRAINT stages_opened_at_not_null NOT NULL
)
PARTITION BY RANGE (job_id);

-- Name: state_jobs; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.state_jobs (
    job_id text NOT NULL,
    tasks integer NOT NULL,
    tags text[] DEFAULT '{}'::text[] NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone,
    floor_xid xid8 DEFAULT '0'::xid8 NOT NULL,
    floor_id bigint DEFAULT 0 NOT NULL,
    CONSTRAINT state_jobs_tasks CHECK ((tasks > 0))
);

-- Name: state_jobs_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.state_jobs_archive (
    job_id text CONSTRAINT state_jobs_job_id_not_null NOT NULL,
    tasks integer CONSTRAINT state_jobs_tasks_not_null NOT NULL,
    tags text[] CONSTRAINT state_jobs_tags_not_null NOT NULL,
    generation integer CONSTRAINT state_jobs_generation_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT state_jobs_created_at_not_null NOT NULL,
    deleted_at timestamp with time zone,
    floor_xid xid8 CONSTRAINT state_jobs_floor_xid_not_null NOT NULL,
    floor_id bigint CONSTRAINT state_jobs_floor_id_not_null NOT NULL
)
PARTITION BY RANGE (((split_part(job_id, '.'::text, 1))::bigint));

-- Name: state_log; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.state_log (
    xid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    id bigint DEFAULT nextval((pg_get_serial_sequence('reelstate.events'::text, 'id'::text))::regclass) NOT NULL,
    job_id text NOT NULL,
    generation integer NOT NULL,
    task integer NOT NULL,
    tag text NOT NULL,
    status integer NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    payload jsonb,
    schema_version integer NOT NULL,
    version integer NOT NULL,
    event_id text NOT NULL,
    at timestamp with time zone NOT NULL
);

-- Name: state_log_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.state_log_archive (
    xid xid8 CONSTRAINT state_log_xid_not_null NOT NULL,
    id bigint CONSTRAINT state_log_id_not_null NOT NULL,
    job_id text CONSTRAINT state_log_job_id_not_null NOT NULL,
    generation integer CONSTRAINT state_log_generation_not_null NOT NULL,
    task integer CONSTRAINT state_log_task_not_null NOT NULL,
    tag text CONSTRAINT state_log_tag_not_null NOT NULL,
    status integer CONSTRAINT state_log_status_not_null NOT NULL,
    severity text CONSTRAINT state_log_severity_not_null NOT NULL,
    message text CONSTRAINT state_log_message_not_null NOT NULL,
    payload jsonb,
    schema_version integer CONSTRAINT state_log_schema_version_not_null NOT NULL,
    version integer CONSTRAINT state_log_version_not_null NOT NULL,
    event_id text CONSTRAINT state_log_event_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT state_log_at_not_null NOT NULL
)
PARTITION BY RANGE (((split_part(job_id, '.'::text, 1))::bigint));

-- Name: states; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.states (
    job_id text NOT NULL,
    generation integer NOT NULL,
    task integer NOT NULL,
    tag text NOT NULL,
    status integer NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    payload jsonb,
    schema_version integer NOT NULL,
    version integer NOT NULL,
    event_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT states_severity CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text])))
);

-- Name: states_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.states_archive (
    job_id text CONSTRAINT states_job_id_not_null NOT NULL,
    generation integer CONSTRAINT states_generation_not_null NOT NULL,
    task integer CONSTRAINT states_task_not_null NOT NULL,
    tag text CONSTRAINT states_tag_not_null NOT NULL,
    status integer CONSTRAINT states_status_not_null NOT NULL,
    severity text CONSTRAINT states_severity_not_null NOT NULL,
    message text CONSTRAINT states_message_not_null NOT NULL,
    payload jsonb,
    schema_version integer CONSTRAINT states_schema_version_not_null NOT NULL,
    version integer CONSTRAINT states_version_not_null NOT NULL,
    event_id text CONSTRAINT states_event_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT states_at_not_null NOT NULL
)
PARTITION BY RANGE (((split_part(job_id, '.'::text, 1))::bigint));

-- Name: steps; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.steps (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    stage smallint NOT NULL,
    part integer NOT NULL,
    token bigint NOT NULL,
    number integer NOT NULL,
    at timestamp with time zone NOT NULL,
    argv jsonb NOT NULL,
    exit_code integer,
    seconds double precision NOT NULL,
    output text NOT NULL,
    type text DEFAULT 'command'::text NOT NULL,
    started_at timestamp with time zone
);

-- Name: steps_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.steps_archive (
    id bigint CONSTRAINT steps_id_not_null NOT NULL,
    job_id bigint CONSTRAINT steps_job_id_not_null NOT NULL,
    stage smallint CONSTRAINT steps_stage_not_null NOT NULL,
    part integer CONSTRAINT steps_part_not_null NOT NULL,
    token bigint CONSTRAINT steps_token_not_null NOT NULL,
    number integer CONSTRAINT steps_number_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT steps_at_not_null NOT NULL,
    argv jsonb CONSTRAINT steps_argv_not_null NOT NULL,
    exit_code integer,
    seconds double precision CONSTRAINT steps_seconds_not_null NOT NULL,
    output text CONSTRAINT steps_output_not_null NOT NULL,
    type text CONSTRAINT steps_type_not_null NOT NULL,
    started_at timestamp with time zone
)
PARTITION BY RANGE (job_id);

-- Name: steps_id_seq; Type: SEQUENCE; Schema: reelstate; Owner: -

ALTER TABLE reelstate.steps ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME reelstate.steps_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- Name: tasks_archive; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.tasks_archive (
    job_id bigint CONSTRAINT tasks_job_id_not_null NOT NULL,
    stage smallint CONSTRAINT tasks_stage_not_null NOT NULL,
    priority smallint CONSTRAINT tasks_priority_not_null NOT NULL,
    part integer CONSTRAINT tasks_part_not_null NOT NULL,
    version integer CONSTRAINT tasks_version_not_null NOT NULL,
    lane integer CONSTRAINT tasks_lane_not_null NOT NULL,
    token bigint CONSTRAINT tasks_token_not_null NOT NULL,
    last_worker bigint,
    changed_at timestamp with time zone CONSTRAINT tasks_changed_at_not_null NOT NULL,
    attempt smallint CONSTRAINT tasks_attempt_not_null NOT NULL,
    max_attempts smallint CONSTRAINT tasks_max_attempts_not_null NOT NULL,
    lost smallint CONSTRAINT tasks_lost_not_null NOT NULL,
    lost_alone smallint CONSTRAINT tasks_lost_alone_not_null NOT NULL,
    status text CONSTRAINT tasks_status_not_null NOT NULL,
    actor text CONSTRAINT tasks_actor_not_null NOT NULL,
    reason text,
    worker_id bigint,
    lease_expires_at timestamp with time zone,
    run_after timestamp with time zone,
    ready_at timestamp with time zone,
    claimed_at timestamp with time zone,
    started_at timestamp with time zone,
    progress_at timestamp with time zone,
    finished_at timestamp with time zone,
    lease real CONSTRAINT tasks_lease_not_null NOT NULL,
    stall_after real,
    timeout real,
    percent real CONSTRAINT tasks_percent_not_null NOT NULL,
    max_lost smallint CONSTRAINT tasks_max_lost_not_null NOT NULL,
    alone boolean CONSTRAINT tasks_alone_not_null NOT NULL,
    step text,
    message text,
    input jsonb,
    checkpoint jsonb,
    result jsonb,
    error jsonb,
    isolate_after smallint CONSTRAINT tasks_isolate_after_not_null NOT NULL,
    flag_after real,
    sole boolean CONSTRAINT tasks_sole_not_null NOT NULL,
    queue integer
)
PARTITION BY RANGE (job_id);

-- Name: tickets; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.tickets (
    digest text NOT NULL,
    video_id bigint NOT NULL,
    key_id text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

-- Name: uploads; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.uploads (
    id text NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    name text DEFAULT ''::text NOT NULL,
    length bigint,
    received bigint DEFAULT 0 NOT NULL,
    digest text,
    sha256 text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT uploads_received CHECK (((received >= 0) AND ((length IS NULL) OR (received <= length)))),
    CONSTRAINT uploads_whole CHECK (((sha256 IS NULL) OR ((length IS NOT NULL) AND (received = length))))
);

-- Name: videos; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.videos (
    id bigint NOT NULL,
    title text NOT NULL,
    source text NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    pinned bigint,
    version integer DEFAULT 1 NOT NULL,
    actor text DEFAULT 'sql'::text NOT NULL,
    reason text,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    deleted_at timestamp with time zone,
    published bigint
);

-- Name: waits; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.waits (
    job_id bigint NOT NULL,
    group_id bigint,
    after_failure text DEFAULT 'wait'::text NOT NULL,
    due boolean DEFAULT true NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT waits_after_failure CHECK ((after_failure = ANY (ARRAY['wait'::text, 'cancel'::text, 'start'::text])))
);

-- Name: webhooks; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.webhooks (
    id text NOT NULL,
    kind text NOT NULL,
    user_id text DEFAULT ''::text NOT NULL,
    url text DEFAULT ''::text NOT NULL,
    events text[] DEFAULT '{}'::text[] NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    secret text NOT NULL,
    old_secret text,
    old_until timestamp with time zone,
    enabled boolean DEFAULT true NOT NULL,
    disabled text,
    failing_since timestamp with time zone,
    actor text DEFAULT 'sql'::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT webhooks_kind CHECK ((kind = ANY (ARRAY['webhook'::text, 'callback'::text, 'alert'::text])))
);

-- Name: worker_instances; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.worker_instances (
    id bigint NOT NULL,
    name text NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL
);

-- Name: worker_names; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.worker_names (
    name text NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

-- Name: workers; Type: TABLE; Schema: reelstate; Owner: -

CREATE TABLE reelstate.workers (
    id bigint NOT NULL,
    name text NOT NULL,
    hostname text NOT NULL,
    software text NOT NULL,
    kind text DEFAULT 'local'::text NOT NULL,
    slots integer DEFAULT 1 NOT NULL,
    capabilities text[] DEFAULT '{}'::text[] NOT NULL,
    pipelines text[] DEFAULT '{}'::text[] NOT NULL,
    metadata jsonb,
    status text DEFAULT 'active'::text NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    actor text DEFAULT 'sql'::text NOT NULL,
    reason text,
    changed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    registered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    last_heartbeat_at timestamp with time zone,
    stuck integer DEFAULT 0 NOT NULL,
    CONSTRAINT workers_kind CHECK ((kind = ANY (ARRAY['local'::text, 'remote'::text]))),
    CONSTRAINT workers_numbers CHECK (((slots >= 1) AND (version >= 1))),
    CONSTRAINT workers_status CHECK ((status = ANY (ARRAY['active'::text, 'draining'::text, 'offline'::text])))
)
WITH (fillfactor='50');

-- Name: alert_cooldowns alert_cooldowns_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.alert_cooldowns
    ADD CONSTRAINT alert_cooldowns_pkey PRIMARY KEY (type, subject);

-- Name: alerts alerts_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.alerts
    ADD CONSTRAINT alerts_pkey PRIMARY KEY (id);

-- Name: callbacks callbacks_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.callbacks
    ADD CONSTRAINT callbacks_pkey PRIMARY KEY (job_id);

-- Name: deliveries deliveries_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (id);

-- Name: delivery_attempts delivery_attempts_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.delivery_attempts
    ADD CONSTRAINT delivery_attempts_pkey PRIMARY KEY (delivery_id, token);

-- Name: dependencies dependencies_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.dependencies
    ADD CONSTRAINT dependencies_pkey PRIMARY KEY (job_id, kind, target);

-- Name: ended_jobs ended_jobs_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.ended_jobs
    ADD CONSTRAINT ended_jobs_pkey PRIMARY KEY (id);

-- Name: event_types event_types_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.event_types
    ADD CONSTRAINT event_types_pkey PRIMARY KEY (name, origin, target);

-- Name: events_archive events_archive_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.events_archive
    ADD CONSTRAINT events_archive_pkey PRIMARY KEY (job_id, xid, id);

-- Name: events events_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (xid, id);

-- Name: facts facts_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (name);

-- Name: findings findings_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.findings
    ADD CONSTRAINT findings_pkey PRIMARY KEY (name, job_id, stage, part, subject);

-- Name: group_jobs group_jobs_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.group_jobs
    ADD CONSTRAINT group_jobs_pkey PRIMARY KEY (job_id);

-- Name: groups groups_name; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.groups
    ADD CONSTRAINT groups_name UNIQUE (user_id, name);

-- Name: groups groups_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.groups
    ADD CONSTRAINT groups_pkey PRIMARY KEY (id);

-- Name: idempotency idempotency_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (user_id, key);

-- Name: jobs_archive jobs_archive_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.jobs_archive
    ADD CONSTRAINT jobs_archive_pkey PRIMARY KEY (id);

-- Name: jobs jobs_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

-- Name: keeper keeper_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.keeper
    ADD CONSTRAINT keeper_pkey PRIMARY KEY (singleton);

-- Name: keys keys_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (id);

-- Name: lanes lanes_pipeline_needs_prefers_key; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.lanes
    ADD CONSTRAINT lanes_pipeline_needs_prefers_key UNIQUE (pipeline, needs, prefers);

-- Name: lanes lanes_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (id);

-- Name: limit_ended limit_ended_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.limit_ended
    ADD CONSTRAINT limit_ended_pkey PRIMARY KEY (id);

-- Name: limit_keys limit_keys_limit_id_key_key; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.limit_keys
    ADD CONSTRAINT limit_keys_limit_id_key_key UNIQUE (limit_id, key);

-- Name: limit_keys limit_keys_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.limit_keys
    ADD CONSTRAINT limit_keys_pkey PRIMARY KEY (id);

-- Name: limit_queues limit_queues_lane_keys_key; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.limit_queues
    ADD CONSTRAINT limit_queues_lane_keys_key UNIQUE (lane, keys);

-- Name: limit_queues limit_queues_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.limit_queues
    ADD CONSTRAINT limit_queues_pkey PRIMARY KEY (id);

-- Name: limits limits_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (id);

-- Name: logs_archive logs_archive_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.logs_archive
    ADD CONSTRAINT logs_archive_pkey PRIMARY KEY (job_id, xid, id);

-- Name: logs logs_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.logs
    ADD CONSTRAINT logs_pkey PRIMARY KEY (id);

-- Name: migrations migrations_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (number);

-- Name: pauses pauses_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.pauses
    ADD CONSTRAINT pauses_pkey PRIMARY KEY (id);

-- Name: pipelines pipelines_name_digest_key; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.pipelines
    ADD CONSTRAINT pipelines_name_digest_key UNIQUE (name, digest);

-- Name: pipelines pipelines_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.pipelines
    ADD CONSTRAINT pipelines_pkey PRIMARY KEY (id);

-- Name: removed_versions removed_versions_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.removed_versions
    ADD CONSTRAINT removed_versions_pkey PRIMARY KEY (job_id);

-- Name: schedule_runs schedule_runs_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.schedule_runs
    ADD CONSTRAINT schedule_runs_pkey PRIMARY KEY (schedule_id, key);

-- Name: schedules schedules_name; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.schedules
    ADD CONSTRAINT schedules_name UNIQUE (name);

-- Name: schedules schedules_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);

-- Name: secrets secrets_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (name);

-- Name: stages_archive stages_archive_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.stages_archive
    ADD CONSTRAINT stages_archive_pkey PRIMARY KEY (job_id, stage);

-- Name: stages stages_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.stages
    ADD CONSTRAINT stages_pkey PRIMARY KEY (job_id, stage);

-- Name: state_jobs state_jobs_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.state_jobs
    ADD CONSTRAINT state_jobs_pkey PRIMARY KEY (job_id);

-- Name: state_log state_log_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.state_log
    ADD CONSTRAINT state_log_pkey PRIMARY KEY (job_id, generation, xid, id);

-- Name: states states_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.states
    ADD CONSTRAINT states_pkey PRIMARY KEY (job_id, task, tag);

-- Name: steps_archive steps_archive_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.steps_archive
    ADD CONSTRAINT steps_archive_pkey PRIMARY KEY (job_id, id);

-- Name: steps steps_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (id);

-- Name: tasks_archive tasks_archive_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.tasks_archive
    ADD CONSTRAINT tasks_archive_pkey PRIMARY KEY (job_id, stage, part);

-- Name: tasks tasks_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (job_id, stage, part);

-- Name: tickets tickets_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.tickets
    ADD CONSTRAINT tickets_pkey PRIMARY KEY (digest);

-- Name: uploads uploads_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.uploads
    ADD CONSTRAINT uploads_pkey PRIMARY KEY (id);

-- Name: videos videos_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.videos
    ADD CONSTRAINT videos_pkey PRIMARY KEY (id);

-- Name: waits waits_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.waits
    ADD CONSTRAINT waits_pkey PRIMARY KEY (job_id);

-- Name: webhooks webhooks_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.webhooks
    ADD CONSTRAINT webhooks_pkey PRIMARY KEY (id);

-- Name: worker_instances worker_instances_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.worker_instances
    ADD CONSTRAINT worker_instances_pkey PRIMARY KEY (id);

-- Name: worker_names worker_names_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.worker_names
    ADD CONSTRAINT worker_names_pkey PRIMARY KEY (name);

-- Name: workers workers_pkey; Type: CONSTRAINT; Schema: reelstate; Owner: -

ALTER TABLE ONLY reelstate.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

-- Name: alerts_by_age; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX alerts_by_age ON reelstate.alerts USING btree (at);

-- Name: alerts_unsent; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX alerts_unsent ON reelstate.alerts USING btree (type, subject) WHERE (folded_at IS NULL);

-- Name: deliveries_busy; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX deliveries_busy ON reelstate.deliveries USING btree (lane) WHERE leased;

-- Name: deliveries_by_age; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX deliveries_by_age ON reelstate.deliveries USING btree (created_at);

-- Name: deliveries_by_webhook; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX deliveries_by_webhook ON reelstate.deliveries USING btree (webhook_id, id);

-- Name: deliveries_due; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX deliveries_due ON reelstate.deliveries USING btree (lane, next_at) WHERE (status = 'pending'::text);

-- Name: deliveries_once; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX deliveries_once ON reelstate.deliveries USING btree (webhook_id, once) WHERE (once IS NOT NULL);

-- Name: dependencies_by_target; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX dependencies_by_target ON reelstate.dependencies USING btree (kind, target, job_id);

-- Name: events_archive_by_entity; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX events_archive_by_entity ON ONLY reelstate.events_archive USING btree (job_id, stage, part, version);

-- Name: events_by_entity; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX events_by_entity ON reelstate.events USING btree (job_id, stage, part, version) WHERE (job_id IS NOT NULL);

-- Name: events_by_finding; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX events_by_finding ON reelstate.events USING btree (version) WHERE (entity = 'finding'::text);

-- Name: events_by_job; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX events_by_job ON reelstate.events USING btree (job_id, xid, id) WHERE ((job_id IS NOT NULL) AND (part >= 1000));

-- Name: events_by_worker; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX events_by_worker ON reelstate.events USING btree (worker_id, version) WHERE (entity = 'worker'::text);

-- Name: group_jobs_by_group; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX group_jobs_by_group ON reelstate.group_jobs USING btree (group_id, job_id);

-- Name: group_jobs_by_outcome; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX group_jobs_by_outcome ON reelstate.group_jobs USING btree (group_id, outcome);

-- Name: groups_by_name; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX groups_by_name ON reelstate.groups USING btree (name);

-- Name: idempotency_by_time; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX idempotency_by_time ON reelstate.idempotency USING brin (created_at) WITH (pages_per_range='16');

-- Name: jobs_archive_by_user; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_archive_by_user ON ONLY reelstate.jobs_archive USING btree (user_id, id) WHERE (user_id <> ''::text);

-- Name: jobs_by_request; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX jobs_by_request ON reelstate.jobs USING btree (request) WHERE (request IS NOT NULL);

-- Name: jobs_by_resource; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_by_resource ON reelstate.jobs USING btree (resource_id, id) WHERE (resource_id IS NOT NULL);

-- Name: jobs_by_resource_finish; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_by_resource_finish ON reelstate.jobs USING btree (finished_at) WHERE (resource_id IS NOT NULL);

-- Name: jobs_by_resource_unready; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_by_resource_unready ON reelstate.jobs USING btree (resource_id) WHERE ((resource_id IS NOT NULL) AND ((status <> 'completed'::text) OR (reason IS NOT NULL)));

-- Name: jobs_by_status; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_by_status ON reelstate.jobs USING btree (status, id) WHERE (status <> 'completed'::text);

-- Name: jobs_by_user; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_by_user ON reelstate.jobs USING btree (user_id, id) WHERE (user_id <> ''::text);

-- Name: jobs_flagged; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_flagged ON reelstate.jobs USING btree (id) WHERE (flagged IS NOT NULL);

-- Name: jobs_stopped; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX jobs_stopped ON reelstate.jobs USING btree (changed_at) WHERE ((status = ANY (ARRAY['failed'::text, 'quarantined'::text])) AND (finished_at IS NOT NULL));

-- Name: keys_by_name; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX keys_by_name ON reelstate.keys USING btree (name) WHERE (kind = 'key'::text);

-- Name: limit_keys_retry; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_keys_retry ON reelstate.limit_keys USING btree (retry_at) WHERE (retry_at IS NOT NULL);

-- Name: limit_queues_blocked; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_queues_blocked ON reelstate.limit_queues USING btree (blocked_by, priority DESC, turn) WHERE (blocked_by IS NOT NULL);

-- Name: limit_queues_open; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_queues_open ON reelstate.limit_queues USING btree (lane, priority DESC, turn) WHERE (waiting AND (blocked_by IS NULL));

-- Name: limit_queues_turns; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_queues_turns ON reelstate.limit_queues USING btree (lane, turn);

-- Name: limit_queues_waiting; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_queues_waiting ON reelstate.limit_queues USING btree (lane, turn) WHERE waiting;

-- Name: limit_starts_by_key; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_starts_by_key ON reelstate.limit_starts USING btree (key, at);

-- Name: limit_starts_expected; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limit_starts_expected ON reelstate.limit_starts USING btree (job_id, stage, part) WHERE (at IS NULL);

-- Name: limits_in_force; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX limits_in_force ON reelstate.limits USING btree (name) WHERE (removed_at IS NULL);

-- Name: limits_unsettled; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX limits_unsettled ON reelstate.limits USING btree (id) WHERE (settled_at IS NULL);

-- Name: logs_archive_by_id; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX logs_archive_by_id ON ONLY reelstate.logs_archive USING btree (id);

-- Name: logs_by_position; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX logs_by_position ON reelstate.logs USING btree (job_id, xid, id);

-- Name: pauses_in_force; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX pauses_in_force ON reelstate.pauses USING btree (scope, name, stage) WHERE (resumed_at IS NULL);

-- Name: pauses_unsettled; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX pauses_unsettled ON reelstate.pauses USING btree (resumed_at) WHERE ((resumed_at IS NOT NULL) AND (settled_at IS NULL));

-- Name: removed_versions_unswept; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX removed_versions_unswept ON reelstate.removed_versions USING btree (job_id) WHERE (swept_at IS NULL);

-- Name: schedule_runs_active; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedule_runs_active ON reelstate.schedule_runs USING btree (schedule_id) WHERE active;

-- Name: schedule_runs_by_age; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedule_runs_by_age ON reelstate.schedule_runs USING btree (at);

-- Name: schedule_runs_by_job; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedule_runs_by_job ON reelstate.schedule_runs USING btree (job_id) WHERE (job_id IS NOT NULL);

-- Name: schedule_runs_by_time; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedule_runs_by_time ON reelstate.schedule_runs USING btree (schedule_id, at, tick);

-- Name: schedule_runs_jobs; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedule_runs_jobs ON reelstate.schedule_runs USING btree (schedule_id, job_id) WHERE (job_id IS NOT NULL);

-- Name: schedule_runs_queued; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedule_runs_queued ON reelstate.schedule_runs USING btree (schedule_id, tick) WHERE (outcome = 'queued'::text);

-- Name: schedules_by_user; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedules_by_user ON reelstate.schedules USING btree (user_id);

-- Name: schedules_due; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX schedules_due ON reelstate.schedules USING btree (next_run_at) WHERE (next_run_at IS NOT NULL);

-- Name: state_jobs_archive_by_job; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX state_jobs_archive_by_job ON ONLY reelstate.state_jobs_archive USING btree (job_id);

-- Name: state_log_archive_by_job; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX state_log_archive_by_job ON ONLY reelstate.state_log_archive USING btree (job_id, generation, xid, id);

-- Name: state_log_by_event; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX state_log_by_event ON reelstate.state_log USING btree (job_id, generation, task, tag, event_id);

-- Name: state_log_by_position; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX state_log_by_position ON reelstate.state_log USING btree (xid, id);

-- Name: state_log_by_version; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX state_log_by_version ON reelstate.state_log USING btree (job_id, generation, task, tag, version);

-- Name: states_archive_by_job; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX states_archive_by_job ON ONLY reelstate.states_archive USING btree (job_id, task, tag);

-- Name: steps_by_job; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX steps_by_job ON reelstate.steps USING btree (job_id, id);

-- Name: steps_by_run; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX steps_by_run ON reelstate.steps USING btree (job_id, stage, part, token, number);

-- Name: tasks_due; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX tasks_due ON reelstate.tasks USING btree (run_after) WHERE (run_after IS NOT NULL);

-- Name: tasks_leased; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX tasks_leased ON reelstate.tasks USING btree (worker_id) WHERE (worker_id IS NOT NULL);

-- Name: tasks_ready; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX tasks_ready ON reelstate.tasks USING btree (lane, priority DESC, job_id, stage, part) WHERE (status = 'ready'::text);

-- Name: tasks_waiting; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX tasks_waiting ON reelstate.tasks USING btree (job_id, stage, status, run_after) WHERE (run_after IS NOT NULL);

-- Name: tickets_by_expiry; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX tickets_by_expiry ON reelstate.tickets USING btree (expires_at);

-- Name: uploads_by_expiry; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX uploads_by_expiry ON reelstate.uploads USING btree (expires_at);

-- Name: uploads_by_user; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX uploads_by_user ON reelstate.uploads USING btree (user_id);

-- Name: videos_by_change; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX videos_by_change ON reelstate.videos USING btree (changed_at);

-- Name: videos_by_user; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX videos_by_user ON reelstate.videos USING btree (user_id, id) WHERE (user_id <> ''::text);

-- Name: videos_stored; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX videos_stored ON reelstate.videos USING btree (source) WHERE ((deleted_at IS NULL) AND (substr(source, 1, 9) = 'stored://'::text));

-- Name: waits_by_group; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX waits_by_group ON reelstate.waits USING btree (group_id) WHERE (ended_at IS NULL);

-- Name: waits_due; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX waits_due ON reelstate.waits USING btree (job_id) WHERE (due AND (ended_at IS NULL));

-- Name: waits_open; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX waits_open ON reelstate.waits USING btree (job_id) WHERE (ended_at IS NULL);

-- Name: webhooks_by_user; Type: INDEX; Schema: reelstate; Owner: -

CREATE UNIQUE INDEX webhooks_by_user ON reelstate.webhooks USING btree (user_id) WHERE (kind = 'callback'::text);

-- Name: workers_by_name; Type: INDEX; Schema: reelstate; Owner: -

CREATE INDEX workers_by_name ON reelstate.workers USING btree (name);

-- Name: stages audit_opened; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER audit_opened AFTER INSERT ON reelstate.stages REFERENCING NEW TABLE AS opened FOR EACH STATEMENT EXECUTE FUNCTION reelstate.audit_stages_opened();

-- Name: stages audit_reopened; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER audit_reopened AFTER UPDATE OF open ON reelstate.stages FOR EACH ROW WHEN ((new.open AND (NOT old.open))) EXECUTE FUNCTION reelstate.audit_stage_reopened();

-- Name: jobs clear_flag; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER clear_flag AFTER UPDATE OF status ON reelstate.jobs FOR EACH ROW WHEN (((old.flagged IS NOT NULL) AND (new.status <> old.status) AND (new.status <> ALL (ARRAY['validating'::text, 'planning'::text, 'downloading_inputs'::text, 'processing'::text, 'uploading_outputs'::text])))) EXECUTE FUNCTION reelstate.clear_flag();

-- Name: jobs end_recording; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER end_recording AFTER INSERT OR UPDATE ON reelstate.jobs FOR EACH STATEMENT EXECUTE FUNCTION reelstate.end_recording();

-- Name: tasks end_recording; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER end_recording AFTER INSERT OR UPDATE ON reelstate.tasks FOR EACH STATEMENT EXECUTE FUNCTION reelstate.end_recording();

-- Name: events guard_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_change BEFORE DELETE OR UPDATE ON reelstate.events FOR EACH ROW EXECUTE FUNCTION reelstate.guard_events();

-- Name: jobs guard_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_change AFTER UPDATE ON reelstate.jobs FOR EACH ROW WHEN ((((new.status <> old.status) OR (new.version <> old.version) OR (new.version < old.version) OR (NOT (new.id = old.id))) AND (NOT COALESCE(((new.version = (old.version + 1)) AND (((old.status = 'pending'::text) AND (new.actor = 'worker'::text) AND (new.status = ANY (ARRAY['validating'::text, 'planning'::text, 'downloading_inputs'::text, 'processing'::text, 'uploading_outputs'::text]))) OR ((old.status = ANY (ARRAY['validating'::text, 'planning'::text, 'downloading_inputs'::text, 'processing'::text, 'uploading_outputs'::text])) AND (new.actor = 'orchestrator'::text) AND (new.status = 'completed'::text))) AND (NOT (new.version < old.version)) AND (new.id = old.id) AND (current_setting('reelstate.recorded'::text, true) = 'on'::text)), false)))) EXECUTE FUNCTION reelstate.guard_jobs_change();

-- Name: lanes guard_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_change BEFORE UPDATE ON reelstate.lanes FOR EACH ROW WHEN (((((old.id IS DISTINCT FROM new.id) OR (old.pipeline IS DISTINCT FROM new.pipeline)) OR (old.needs IS DISTINCT FROM new.needs)) OR (old.prefers IS DISTINCT FROM new.prefers))) EXECUTE FUNCTION reelstate.guard_pipelines();

-- Name: pipelines guard_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_change BEFORE UPDATE ON reelstate.pipelines FOR EACH ROW WHEN (((((old.id IS DISTINCT FROM new.id) OR (old.name IS DISTINCT FROM new.name)) OR (old.digest IS DISTINCT FROM new.digest)) OR (old.graph IS DISTINCT FROM new.graph))) EXECUTE FUNCTION reelstate.guard_pipelines();

-- Name: tasks guard_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_change AFTER UPDATE ON reelstate.tasks FOR EACH ROW WHEN ((((new.status <> old.status) OR (new.version <> old.version) OR (new.version < old.version) OR (new.token < old.token) OR (new.attempt < (old.attempt - 1)) OR (NOT ((new.job_id = old.job_id) AND (new.stage = old.stage) AND (new.part = old.part)))) AND (NOT COALESCE(((new.version = (old.version + 1)) AND ((new.actor = 'worker'::text) AND (((old.status = 'ready'::text) AND (new.status = 'running'::text)) OR ((old.status = 'running'::text) AND (new.status = ANY (ARRAY['done'::text, 'skipped'::text]))))) AND (NOT ((new.version < old.version) OR (new.token < old.token) OR (new.attempt < (old.attempt - 1)))) AND (new.job_id = old.job_id) AND (new.stage = old.stage) AND (new.part = old.part) AND (current_setting('reelstate.recorded'::text, true) = 'on'::text)), false)))) EXECUTE FUNCTION reelstate.guard_tasks_change();

-- Name: workers guard_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_change AFTER UPDATE ON reelstate.workers FOR EACH ROW WHEN ((((new.status <> old.status) OR (new.version <> old.version) OR (new.version < old.version) OR (NOT (new.id = old.id))) AND (NOT COALESCE(((new.version = (old.version + 1)) AND false AND (NOT (new.version < old.version)) AND (new.id = old.id) AND (current_setting('reelstate.recorded'::text, true) = 'on'::text)), false)))) EXECUTE FUNCTION reelstate.guard_workers_change();

-- Name: jobs guard_delete; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_delete BEFORE DELETE OR TRUNCATE ON reelstate.jobs FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_delete();

-- Name: lanes guard_delete; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_delete BEFORE DELETE OR TRUNCATE ON reelstate.lanes FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_delete();

-- Name: pipelines guard_delete; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_delete BEFORE DELETE OR TRUNCATE ON reelstate.pipelines FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_delete();

-- Name: stages guard_delete; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_delete BEFORE DELETE OR TRUNCATE ON reelstate.stages FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_delete();

-- Name: tasks guard_delete; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_delete BEFORE DELETE OR TRUNCATE ON reelstate.tasks FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_delete();

-- Name: jobs guard_insert; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_insert AFTER INSERT ON reelstate.jobs FOR EACH ROW WHEN (((new.status <> 'pending'::text) OR (new.version <> 1) OR (NOT COALESCE((current_setting('reelstate.recorded'::text, true) = 'on'::text), false)))) EXECUTE FUNCTION reelstate.guard_jobs_insert();

-- Name: tasks guard_insert; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_insert AFTER INSERT ON reelstate.tasks FOR EACH ROW WHEN (((new.status <> ALL (ARRAY['new'::text, 'ready'::text])) OR (new.version <> 1))) EXECUTE FUNCTION reelstate.guard_tasks_insert();

-- Name: workers guard_insert; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_insert AFTER INSERT ON reelstate.workers FOR EACH ROW WHEN (((new.status <> 'active'::text) OR (new.version <> 1) OR (NOT COALESCE((current_setting('reelstate.recorded'::text, true) = 'on'::text), false)))) EXECUTE FUNCTION reelstate.guard_workers_insert();

-- Name: events guard_truncate; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON reelstate.events FOR EACH STATEMENT EXECUTE FUNCTION reelstate.guard_events();

-- Name: tasks limit_arrive; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER limit_arrive AFTER UPDATE OF status ON reelstate.tasks FOR EACH ROW WHEN (((new.status = 'ready'::text) AND (old.status <> 'ready'::text))) EXECUTE FUNCTION reelstate.limit_arrive();

-- Name: tasks limit_end; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER limit_end AFTER UPDATE OF status ON reelstate.tasks FOR EACH ROW WHEN (((old.queue IS NOT NULL) AND (((old.status = 'running'::text) AND (new.status <> 'running'::text)) OR ((old.status = 'ready'::text) AND (new.status <> ALL (ARRAY['ready'::text, 'running'::text])) AND ((old.lane >= '-268435455'::integer) AND (old.lane <= 268435455)))))) EXECUTE FUNCTION reelstate.limit_end();

-- Name: tasks limit_start; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER limit_start AFTER UPDATE OF status ON reelstate.tasks FOR EACH ROW WHEN (((new.queue IS NOT NULL) AND (old.status = 'ready'::text) AND (new.status = 'running'::text))) EXECUTE FUNCTION reelstate.limit_start();

-- Name: jobs move_priority; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER move_priority AFTER UPDATE OF priority ON reelstate.jobs FOR EACH ROW WHEN (((old.priority <> new.priority) AND (new.status <> ALL (ARRAY['completed'::text, 'cancelled'::text])))) EXECUTE FUNCTION reelstate.move_priority();

-- Name: jobs note_endings; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER note_endings AFTER UPDATE ON reelstate.jobs REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION reelstate.note_endings();

-- Name: jobs outbox_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER outbox_change AFTER UPDATE ON reelstate.jobs REFERENCING OLD TABLE AS before NEW TABLE AS after FOR EACH STATEMENT EXECUTE FUNCTION reelstate.outbox_jobs();

-- Name: webhooks outbox_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER outbox_change AFTER UPDATE OF disabled ON reelstate.webhooks FOR EACH ROW WHEN (((old.disabled IS NULL) AND (new.disabled IS NOT NULL))) EXECUTE FUNCTION reelstate.outbox_webhooks();

-- Name: workers outbox_change; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER outbox_change AFTER UPDATE OF status ON reelstate.workers FOR EACH ROW WHEN (((old.status <> new.status) AND (('offline'::text = old.status) OR ('offline'::text = new.status)))) EXECUTE FUNCTION reelstate.outbox_workers();

-- Name: workers outbox_insert; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER outbox_insert AFTER INSERT ON reelstate.workers FOR EACH ROW EXECUTE FUNCTION reelstate.outbox_workers();

-- Name: tasks unpark; Type: TRIGGER; Schema: reelstate; Owner: -

CREATE TRIGGER unpark AFTER UPDATE OF status ON reelstate.tasks FOR EACH ROW WHEN ((((new.lane > 268435456) OR (new.lane < '-268435456'::integer)) AND (new.status <> 'ready'::text))) EXECUTE FUNCTION reelstate.unpark();
