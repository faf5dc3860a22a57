// Generated from the OpenAPI document of the server by `npm run schema`. Do not edit.

export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the entry points
         * @description List the entry points. Browsers are sent to the dashboard, programs get JSON.
         */
        get: operations["home_home"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check that the process answers
         * @description Check that the process answers.
         */
        get: operations["health_livez"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check what requests need: the database with the right schema, the storage, and Redis in mode `redis`
         * @description Check what requests need: the database with the right schema, the storage, and Redis in mode `redis`.
         */
        get: operations["health_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Report the health of the deployment
         * @description Report the health of the deployment. Details are for admins.
         */
        get: operations["health_health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the metrics of this server and the gauges of the cluster in the text format of Prometheus
         * @description Return the metrics of this server and the gauges of the cluster in the text format of Prometheus.
         *
         *     By default requests from this machine need no key, and all others a key with the scope `metrics`: see
         *     `REEL_METRICS_ACCESS`.
         */
        get: operations["health_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get who is signed in, with which scopes, and what the server accepts
         * @description Get who is signed in, with which scopes, and what the server accepts. 401 when nobody is.
         */
        get: operations["sign_in_session"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/signin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sign in with a one-time code, as printed by `reel serve`; sends the browser to the dashboard
         * @description Sign in with a one-time code, as printed by `reel serve`; sends the browser to the dashboard.
         */
        get: operations["sign_in_sign_in_with_code"];
        put?: never;
        /**
         * Sign in with a key
         * @description Sign in with a key.
         */
        post: operations["sign_in_sign_in"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/signout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Sign out
         * @description Sign out. Ends the session; a key that is sent along stays valid.
         */
        post: operations["sign_in_sign_out"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel, retry, quarantine or reprioritise many jobs in one transaction
         * @description Cancel, retry, quarantine or reprioritise many jobs in one transaction.
         *
         *     Without `expected` the jobs are only counted.
         */
        post: operations["operations_bulk"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description Cancel a job. Its running tasks are stopped; finished results stay on record.
         */
        post: operations["operations_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry a failed job
         * @description Retry a failed job. Runs what is unfinished, or everything from a stage on.
         */
        post: operations["operations_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/reprioritise": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change the priority of a job
         * @description Change the priority of a job. It applies to all its tasks, also those opened later.
         */
        post: operations["operations_reprioritise"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/quarantine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Quarantine a job until an operator retries or cancels it
         * @description Quarantine a job until an operator retries or cancels it.
         */
        post: operations["operations_quarantine"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/force": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Force the status of a job
         * @description Force the status of a job. Running tasks are stopped.
         */
        post: operations["operations_force"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs, newest first
         * @description List jobs, newest first. A page of a search may have fewer jobs than `limit`; the last one has no `after`.
         */
        get: operations["jobs_jobs"];
        put?: never;
        /**
         * Submit a job
         * @description Submit a job. The same idempotency key and body return the first answer; another body is refused.
         */
        post: operations["jobs_submit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit many jobs in one transaction, all or none
         * @description Submit many jobs in one transaction, all or none.
         */
        post: operations["jobs_submit_many"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/suggestions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List how the last term of a search may go on: the fields, the statuses and the names of pipelines
         * @description List how the last term of a search may go on: the fields, the statuses and the names of pipelines.
         */
        get: operations["jobs_suggestions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a job with its stages and running tasks
         * @description Get a job with its stages and running tasks. Its version is the ETag.
         */
        get: operations["jobs_job"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the exact reasons why a job, a stage or a task does not run now, or that it runs
         * @description Get the exact reasons why a job, a stage or a task does not run now, or that it runs.
         *
         *     Workers are named to admins; others see their number.
         */
        get: operations["jobs_why"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/qualities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the qualities that a transcode job encodes, with their progress; none for other pipelines
         * @description List the qualities that a transcode job encodes, with their progress; none for other pipelines.
         */
        get: operations["jobs_qualities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/stages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the stages of a job with their progress
         * @description List the stages of a job with their progress.
         */
        get: operations["jobs_stages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the tasks of a job by stage and part
         * @description List the tasks of a job by stage and part.
         */
        get: operations["jobs_tasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the log lines of a job, oldest first
         * @description List the log lines of a job, oldest first. `stage` and `part` together select one task.
         */
        get: operations["jobs_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the commands that a job has run
         * @description List the commands that a job has run. `stage` and `part` together select one task.
         */
        get: operations["jobs_steps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/spans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the state of every task of a job, neighbouring parts in the same state as one span
         * @description Get the state of every task of a job, neighbouring parts in the same state as one span.
         *
         *     Some kilobytes for a job of 100,000 tasks. The workers and times of parts are in its grid.
         */
        get: operations["jobs_spans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/grid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get every task of a job, or some parts of a stage, as columns; compressed for clients that accept gzip
         * @description Get every task of a job, or some parts of a stage, as columns; compressed for clients that accept gzip.
         */
        get: operations["jobs_grid"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/attempts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the runs of a job's tasks as columns
         * @description List the runs of a job's tasks as columns. They follow from the events: worker, times and outcome of each.
         */
        get: operations["jobs_attempts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List events, or stream them
         * @description List events, or stream them. `Accept: text/event-stream` streams live from now or after a cursor; else pages.
         *
         *     Users get the events of their jobs, admins all events. `after=0` is the start of what is kept.
         */
        get: operations["events_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/jobs/{job_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of a job, or stream them
         * @description List the events of a job, or stream them. Oldest first; `Accept: text/event-stream` streams live.
         *
         *     A stream starts with the job and ends when the job is inactive and every event was sent. A client that reconnects
         *     then gets 204, at which browsers stop.
         */
        get: operations["events_job_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/states/{job_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the states of a job: a grid of tasks and tags per stage, and the lowest state
         * @description List the states of a job: a grid of tasks and tags per stage, and the lowest state.
         */
        get: operations["states_states"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/states/{job_id}/lowest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the lowest state of a job
         * @description Get the lowest state of a job. Errors come first, then the least progress.
         */
        get: operations["states_lowest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all registered instances, oldest first
         * @description List all registered instances, oldest first.
         */
        get: operations["workers_workers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/names": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every name that a worker was ever registered under, sorted
         * @description List every name that a worker was ever registered under, sorted.
         */
        get: operations["workers_names"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{name}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let the instances of a name finish their tasks and claim no new ones
         * @description Let the instances of a name finish their tasks and claim no new ones.
         */
        post: operations["workers_drain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{name}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let the instances of a name claim tasks again, after a drain or a disable
         * @description Let the instances of a name claim tasks again, after a drain or a disable.
         */
        post: operations["workers_enable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{name}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refuse tasks to a name, also after a restart, until it is enabled; release the tasks that its instances run
         * @description Refuse tasks to a name, also after a restart, until it is enabled; release the tasks that its instances run.
         *
         *     Its keys stay valid; `revoke` ends them.
         */
        post: operations["workers_disable"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers/{name}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke the keys of a remote worker, which is refused within five seconds, and release the tasks that it runs
         * @description Revoke the keys of a remote worker, which is refused within five seconds, and release the tasks that it runs.
         */
        post: operations["workers_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List keys
         * @description List keys. Expired and revoked ones are included; no secret is shown.
         */
        get: operations["keys_keys"];
        put?: never;
        /**
         * Create a key
         * @description Create a key. The answer holds the key itself, which is shown only once.
         */
        post: operations["keys_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{key_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate a key
         * @description Rotate a key. The new key has the same scopes and is shown only once; the old one ends after the overlap.
         */
        post: operations["keys_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{key_id}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Revoke a key and its sessions
         * @description Revoke a key and its sessions. Every server refuses it within five seconds.
         */
        post: operations["keys_revoke"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the months of the archive and its exports, oldest first
         * @description List the months of the archive and its exports, oldest first. `GET /api/v1/jobs?archived=true` lists jobs.
         */
        get: operations["archive_months"];
        put?: never;
        /**
         * Archive finished jobs now
         * @description Archive finished jobs now. The keeper does it by itself; jobs that changed meanwhile stay.
         */
        post: operations["archive_archive"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/archive/{month}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the rows of a month, from the archive, or from its export when it was deleted
         * @description Read the rows of a month, from the archive, or from its export when it was deleted.
         */
        get: operations["archive_rows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the limits in force by name
         * @description List the limits in force by name.
         */
        get: operations["limits_limits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/limits/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a limit, and the keys with most tasks
         * @description Show a limit, and the keys with most tasks.
         */
        get: operations["limits_limit"];
        /**
         * Set a limit, or replace the one of that name
         * @description Set a limit, or replace the one of that name. Tasks that run go on, and count.
         */
        put: operations["limits_set_limit"];
        post?: never;
        /**
         * Remove a limit; what waits for it alone can be claimed at once
         * @description Remove a limit; what waits for it alone can be claimed at once.
         */
        delete: operations["limits_remove_limit"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pauses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the pauses in force, newest first
         * @description List the pauses in force, newest first.
         */
        get: operations["pauses_pauses"];
        put?: never;
        /**
         * Keep workers from claiming tasks of a target, until it is resumed
         * @description Keep workers from claiming tasks of a target, until it is resumed. New work is accepted and waits.
         */
        post: operations["pauses_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pauses/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lift the pause of a target; its tasks can be claimed at once
         * @description Lift the pause of a target; its tasks can be claimed at once.
         */
        post: operations["pauses_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List webhooks, oldest first
         * @description List webhooks, oldest first. The callbacks of a user's jobs are one, of kind `callback`. No secret is shown.
         */
        get: operations["webhooks_webhooks"];
        put?: never;
        /**
         * Create a webhook
         * @description Create a webhook. The answer holds its secret, which is shown only once.
         */
        post: operations["webhooks_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a webhook
         * @description Get a webhook.
         */
        get: operations["webhooks_webhook"];
        put?: never;
        post?: never;
        /**
         * Remove a webhook and its deliveries
         * @description Remove a webhook and its deliveries.
         */
        delete: operations["webhooks_remove"];
        options?: never;
        head?: never;
        /**
         * Change a webhook
         * @description Change a webhook. One that is enabled again gets what is pending.
         */
        patch: operations["webhooks_update"];
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate the secret
         * @description Rotate the secret. The new one is shown only once; both sign until the overlap is over.
         */
        post: operations["webhooks_rotate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the deliveries of a webhook with their attempts, newest first
         * @description List the deliveries of a webhook with their attempts, newest first.
         */
        get: operations["webhooks_deliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Deliver an event again, under the same id
         * @description Deliver an event again, under the same id.
         */
        post: operations["webhooks_redeliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List schedules by name, with the next tick and the last run
         * @description List schedules by name, with the next tick and the last run.
         */
        get: operations["schedules_schedules"];
        put?: never;
        /**
         * Create a schedule
         * @description Create a schedule.
         */
        post: operations["schedules_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * List the next ten ticks of a timing
         * @description List the next ten ticks of a timing. Nothing is created.
         */
        post: operations["schedules_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a schedule with its next ten ticks and its last ten runs
         * @description Get a schedule with its next ten ticks and its last ten runs.
         */
        get: operations["schedules_schedule"];
        put?: never;
        post?: never;
        /**
         * Delete a schedule and the record of its runs
         * @description Delete a schedule and the record of its runs. Its jobs stay.
         */
        delete: operations["schedules_delete"];
        options?: never;
        head?: never;
        /**
         * Change a schedule
         * @description Change a schedule. Another timing counts from now on.
         */
        patch: operations["schedules_update"];
        trace?: never;
    };
    "/api/v1/schedules/{name}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause a schedule
         * @description Pause a schedule. It submits nothing until it is resumed.
         */
        post: operations["schedules_pause"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume a schedule with its next tick
         * @description Resume a schedule with its next tick. Ticks of the pause are not run.
         */
        post: operations["schedules_resume"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a job of the schedule now, also while it is paused
         * @description Submit a job of the schedule now, also while it is paused.
         */
        post: operations["schedules_trigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/backfill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a job for each tick of a time in the past that has none; with `dry_run`, list them
         * @description Submit a job for each tick of a time in the past that has none; with `dry_run`, list them.
         */
        post: operations["schedules_backfill"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List groups of jobs, newest first
         * @description List groups of jobs, newest first. Their jobs: `GET /api/v1/jobs?q=group:NAME`.
         */
        get: operations["groups_groups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the status, the counts and the progress of a group
         * @description Get the status, the counts and the progress of a group.
         */
        get: operations["groups_group"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{name}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel the active jobs of a group, in batches
         * @description Cancel the active jobs of a group, in batches. Jobs that have failed stay failed.
         */
        post: operations["groups_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/groups/{name}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry the failed jobs of a group, in batches; for an admin the quarantined ones too
         * @description Retry the failed jobs of a group, in batches; for an admin the quarantined ones too.
         */
        post: operations["groups_retry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/machines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the state machines
         * @description List the state machines.
         */
        get: operations["machines_machines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/machines/{entity}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a state machine
         * @description Get a state machine.
         */
        get: operations["machines_machine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/machines/{entity}/mermaid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a state machine as Mermaid source
         * @description Get a state machine as Mermaid source.
         */
        get: operations["machines_as_mermaid"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/machines/{entity}/svg": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a state machine as an SVG picture
         * @description Get a state machine as an SVG picture.
         */
        get: operations["machines_as_svg"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count jobs by status and tasks by pipeline
         * @description Count jobs by status and tasks by pipeline. A user's key counts that user's jobs.
         */
        get: operations["deployment_queue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the settings of the server
         * @description List the settings of the server. Secrets are not shown.
         */
        get: operations["deployment_settings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the state of the deployment: counts, the last hour, and what needs attention
         * @description Get the state of the deployment: counts, the last hour, and what needs attention. At most 4 seconds old.
         *
         *     Counts stop at 10,000. A user's key shows that user's jobs.
         */
        get: operations["deployment_read_overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pipelines": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List every version of every pipeline, the newest first, with its stages
         * @description List every version of every pipeline, the newest first, with its stages.
         */
        get: operations["pipelines_pipelines"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pipelines/{name}/use": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pin the version that new jobs of a pipeline run; without a digest, unpin it
         * @description Pin the version that new jobs of a pipeline run; without a digest, unpin it.
         */
        post: operations["pipelines_use"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register an instance under the name of its key, with its protocol and the pipelines that it runs
         * @description Register an instance under the name of its key, with its protocol and the pipelines that it runs.
         */
        post: operations["worker_register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Lease tasks to a worker
         * @description Lease tasks to a worker. With `wait`, answer when there are some or after `wait` seconds.
         */
        post: operations["worker_claim"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Renew leases, and permits that expire soon
         * @description Renew leases, and permits that expire soon. Without items, only record that the worker is alive.
         */
        post: operations["worker_heartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Store progress, checkpoints, log lines, commands and states of tasks, and renew their leases
         * @description Store progress, checkpoints, log lines, commands and states of tasks, and renew their leases.
         */
        post: operations["worker_progress"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/complete": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete tasks
         * @description Complete tasks. Files of video tasks are inspected first, which may take minutes.
         */
        post: operations["worker_complete"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/fail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Record failed attempts
         * @description Record failed attempts.
         */
        post: operations["worker_fail"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release tasks that will not be finished
         * @description Release tasks that will not be finished. A release does not count as an attempt.
         */
        post: operations["worker_release"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the results of an earlier stage of the job while the lease is held
         * @description List the results of an earlier stage of the job while the lease is held. Large results end a page early.
         */
        get: operations["worker_results"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/wakeups": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Answer when there may be work or tasks to stop
         * @description Answer when there may be work or tasks to stop. A new listener gets every wake-up, as it may have missed some.
         */
        get: operations["worker_wakeups"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/leave": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark a worker that has released its tasks offline
         * @description Mark a worker that has released its tasks offline.
         */
        post: operations["worker_leave"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the files of the task's job under a prefix
         * @description List the files of the task's job under a prefix.
         */
        get: operations["worker_list_files"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/files/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a file of the task's job, or a range of it
         * @description Read a file of the task's job, or a range of it.
         */
        get: operations["worker_read"];
        /**
         * Store a file that a task made, atomically, under the token of its attempt
         * @description Store a file that a task made, atomically, under the token of its attempt.
         */
        put: operations["worker_write"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/source": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the source of the task's job, if it is a path or in a bucket that the server reads
         * @description Read the source of the task's job, if it is a path or in a bucket that the server reads.
         */
        get: operations["worker_source"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/worker/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Store the files of a tar.gz under the token of an attempt; one invalid member refuses all
         * @description Store the files of a tar.gz under the token of an attempt; one invalid member refuses all.
         */
        put: operations["worker_archive"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create an upload
         * @description Create an upload. A body of type `application/offset+octet-stream` is its first chunk.
         */
        post: operations["uploads_create"];
        delete?: never;
        /**
         * List the supported upload protocol versions and extensions
         * @description List the supported upload protocol versions and extensions.
         */
        options: operations["uploads_discover"];
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uploads/{upload_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get an upload and its offset
         * @description Get an upload and its offset. HEAD returns them as headers.
         */
        get: operations["uploads_show"];
        put?: never;
        post?: never;
        /**
         * Delete an upload
         * @description Delete an upload. A video that was made from it stays.
         */
        delete: operations["uploads_delete"];
        options?: never;
        head?: never;
        /**
         * Append to an upload
         * @description Append to an upload. Bytes received before a disconnect count; with Content-Digest only whole chunks do.
         */
        patch: operations["uploads_append"];
        trace?: never;
    };
    "/api/v1/videos/{video_id}/playback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a playback address
         * @description Create a playback address. Any player can use it without a key until it expires.
         */
        post: operations["playback_open_playback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}/files/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a file of a video
         * @description Get a file of a video. Files under `videos/` follow the current version; those under `versions/` never change.
         */
        get: operations["playback_file"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/play/{ticket}/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a file of a video with a playback ticket
         * @description Get a file of a video with a playback ticket.
         */
        get: operations["playback_play"];
        put?: never;
        post?: never;
        delete?: never;
        /**
         * Answer the CORS preflight of a player on another site
         * @description Answer the CORS preflight of a player on another site.
         */
        options: operations["playback_preflight"];
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List videos, newest first
         * @description List videos, newest first.
         */
        get: operations["videos_videos"];
        put?: never;
        /**
         * Create a video from an address or an upload, and start its transcode
         * @description Create a video from an address or an upload, and start its transcode.
         */
        post: operations["videos_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/upload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a video from the request body
         * @description Create a video from the request body. Send large files to `/uploads` instead.
         */
        post: operations["videos_create_from_body"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a video with its qualities, versions and playback address
         * @description Get a video with its qualities, versions and playback address. Its version is the ETag.
         */
        get: operations["videos_video"];
        put?: never;
        post?: never;
        /**
         * Delete a video and cancel its jobs
         * @description Delete a video and cancel its jobs. Its files are kept as long as superseded versions are.
         */
        delete: operations["videos_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}/retranscode": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a new version of a video
         * @description Create a new version of a video. The old one plays until the new one is complete, and can be rolled back to.
         */
        post: operations["videos_retranscode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}/pin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pin a video to one completed version
         * @description Pin a video to one completed version.
         */
        post: operations["videos_pin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}/unpin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Unpin a video
         * @description Unpin a video. Its newest completed version plays again.
         */
        post: operations["videos_unpin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Roll a video back to an earlier version and pin it
         * @description Roll a video back to an earlier version and pin it.
         */
        post: operations["videos_rollback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/videos/{video_id}/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Undo the deletion of a video while files of a version of it are kept; its cancelled jobs stay cancelled
         * @description Undo the deletion of a video while files of a version of it are kept; its cancelled jobs stay cancelled.
         */
        post: operations["videos_restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AfterFailure
         * @description What happens to a waiting job when what it waits for fails for good, is quarantined or cancelled.
         * @enum {string}
         */
        AfterFailure: "wait" | "cancel" | "start";
        /** Alive */
        Alive: {
            /**
             * Status
             * @default ok
             * @constant
             */
            status: "ok";
        };
        /** Answers */
        Answers: {
            /**
             * Items
             * @description In the order of the jobs.
             */
            items: components["schemas"]["SubmittedDocument"][];
        };
        /**
         * ArchiveRequest
         * @description Which jobs to archive; without times, those that the settings name.
         * @example {
         *       "before": "2026-10-01T00:00:00Z"
         *     }
         */
        ArchiveRequest: {
            /**
             * Before
             * @description Completed and cancelled jobs that ended before.
             */
            before?: string | null;
            /**
             * Failed Before
             * @description Failed and quarantined jobs that stopped before.
             */
            failed_before?: string | null;
            /**
             * Dry Run
             * @description Count the jobs, and move none.
             * @default false
             */
            dry_run: boolean;
        };
        /**
         * ArchivedDocument
         * @description What was moved, or would be.
         * @example {
         *       "jobs": {
         *         "2026-10": 1204
         *       },
         *       "rows": {
         *         "jobs": 1204,
         *         "tasks": 4816
         *       }
         *     }
         */
        ArchivedDocument: {
            /**
             * Jobs
             * @description Jobs by the month in which they were created.
             */
            jobs: {
                [key: string]: number;
            };
            /**
             * Rows
             * @description Rows by table.
             */
            rows: {
                [key: string]: number;
            };
        };
        /** AttemptDocument */
        AttemptDocument: {
            /** Number */
            number: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Seconds */
            seconds: number;
            /** Status */
            status: number | null;
            /** Failure */
            failure: string | null;
            /**
             * Response
             * @description The start of the response.
             */
            response: string | null;
        };
        /**
         * AttentionDocument
         * @description Something that an operator should look at.
         */
        AttentionDocument: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "quarantined" | "flagged" | "failed" | "no_worker" | "stuck" | "paused" | "webhook" | "keeper";
            /**
             * Severity
             * @enum {string}
             */
            severity: "error" | "warning" | "info";
            /** Title */
            title: string;
            /** Detail */
            detail: string;
            count: components["schemas"]["CountDocument"];
            /**
             * Job
             * @description The newest job that it is about.
             */
            job: number | null;
            /**
             * Jobs
             * @description The newest jobs that it is about.
             */
            jobs: number[];
            /** Pipeline */
            pipeline: string | null;
            /** Webhook */
            webhook: string | null;
            /** Worker */
            worker: string | null;
            /** Since */
            since: string | null;
        };
        /** BackfillDocument */
        BackfillDocument: {
            /** Dry Run */
            dry_run: boolean;
            /**
             * Ticks
             * @description Ticks that make a job.
             */
            ticks: string[];
            /**
             * Done
             * @description Ticks that have made one before.
             */
            done: string[];
            /**
             * Job Ids
             * @description The new jobs; those of queued ticks are submitted later.
             */
            job_ids: number[];
        };
        /** BulkDocument */
        BulkDocument: {
            /**
             * Matched
             * @description How many jobs match.
             */
            matched: number;
            /**
             * Done
             * @description Whether the jobs were changed, or only counted.
             */
            done: boolean;
            /** Items */
            items: components["schemas"]["VerdictDocument"][];
        };
        /**
         * BulkRequest
         * @description All jobs of these statuses. A request without `expected` counts them; one with the count changes them.
         * @example {
         *       "action": "retry",
         *       "expected": 12,
         *       "pipeline": "transcode",
         *       "status": [
         *         "failed"
         *       ]
         *     }
         */
        BulkRequest: {
            /**
             * Reason
             * @description Why; the history records it.
             */
            reason?: string | null;
            /**
             * Action
             * @enum {string}
             */
            action: "cancel" | "retry" | "quarantine" | "reprioritise";
            /**
             * Priority
             * @description The new priority; for `reprioritise`.
             */
            priority?: number | ("low" | "normal" | "high" | "critical") | null;
            /**
             * Stage
             * @description Retry from this stage on; by default, what is unfinished.
             */
            stage?: string | null;
            /**
             * Parts
             * @description Only these parts of the stage: first and last of each range.
             */
            parts?: [
                number,
                number
            ][] | null;
            /**
             * Status
             * @description `running` is every phase.
             */
            status: (components["schemas"]["JobStatus"] | "running")[];
            /** Pipeline */
            pipeline?: string | null;
            /**
             * User Id
             * @description Only this user's; for admins.
             */
            user_id?: string | null;
            /**
             * Group
             * @description Only of this group.
             */
            group?: string | null;
            /**
             * Expected
             * @description The count that the caller expects; with another count nothing is changed.
             */
            expected?: number | null;
        };
        /**
         * Capacity
         * @description Bytes of the disk that the storage is on.
         */
        Capacity: {
            /** Total */
            total: number;
            /** Free */
            free: number;
        };
        /**
         * CatchUp
         * @description Which ticks are run that were due while no keeper ran.
         * @enum {string}
         */
        CatchUp: "latest" | "all" | "none";
        /**
         * ChangedDocument
         * @example {
         *       "id": 244813922304,
         *       "job": 244813922305,
         *       "verdict": "ok"
         *     }
         */
        ChangedDocument: {
            /** Id */
            id: number;
            /**
             * Job
             * @description The current version.
             */
            job: number | null;
            /** @description `ok`, or `repeated` if nothing changed. */
            verdict: components["schemas"]["Verdict"];
        };
        /** ChangedWorker */
        ChangedWorker: {
            /** Name */
            name: string;
            /**
             * Changed
             * @description Ids of the instances that changed.
             */
            changed: number[];
        };
        /**
         * ClaimState
         * @description The claim status of a task, derived from its status, lease and error.
         * @enum {string}
         */
        ClaimState: "Unclaimed" | "Claimed" | "Expired" | "Completed" | "Failed" | "Retrying";
        /** CompleteRequest */
        CompleteRequest: {
            /** Items */
            items: components["schemas"]["CompletionItem"][];
        };
        /** CompletionItem */
        CompletionItem: {
            /** Permit */
            permit: string;
            /** Result */
            result?: unknown;
            /**
             * Skipped
             * @default false
             */
            skipped: boolean;
        };
        /**
         * CountDocument
         * @description A number that is counted up to a limit.
         */
        CountDocument: {
            /** Count */
            count: number;
            /**
             * Capped
             * @description Whether there may be more.
             */
            capped: boolean;
        };
        /** DeliveryDocument */
        DeliveryDocument: {
            /** Id */
            id: number;
            /**
             * Message
             * @description The header `webhook-id`, the same in every attempt.
             */
            message: string;
            /** Webhook Id */
            webhook_id: string;
            /** Url */
            url: string;
            /** Type */
            type: string;
            /** Job Id */
            job_id: number | null;
            status: components["schemas"]["DeliveryStatus"];
            /** Attempt */
            attempt: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Next At */
            next_at: string | null;
            /** Finished At */
            finished_at: string | null;
            /** Attempts */
            attempts: components["schemas"]["AttemptDocument"][];
        };
        /**
         * DeliveryStatus
         * @description The status of a delivery; a failed one has used up its attempts.
         * @enum {string}
         */
        DeliveryStatus: "pending" | "delivered" | "failed";
        /**
         * DeploymentHealth
         * @description What operators look at first.
         */
        DeploymentHealth: {
            /** @description Worker instances by status. */
            workers: components["schemas"]["Workers"];
            /** Pending Jobs */
            pending_jobs: number;
            /** Processing Jobs */
            processing_jobs: number;
            /** Running Tasks */
            running_tasks: number;
            /** Ready Tasks */
            ready_tasks: number;
            /** @description Null for a bucket. */
            storage: components["schemas"]["Capacity"] | null;
            dispatch: components["schemas"]["DispatchDocument"];
            /**
             * Keeper
             * @description The leading keeper, if any.
             */
            keeper: string | null;
            /** Keeper Seen At */
            keeper_seen_at: string | null;
        };
        /** DisabledWorker */
        DisabledWorker: {
            /** Name */
            name: string;
            /**
             * Released
             * @description Tasks that were released, without counting an attempt.
             */
            released: number;
        };
        /**
         * DispatchDocument
         * @description How workers learn where work is.
         */
        DispatchDocument: {
            /**
             * Kind
             * @description `database`, `poll`, `redis` or `hybrid`.
             */
            kind: string;
            /**
             * Redis
             * @description `unavailable`: the database is used instead; `reconnecting`: it is being tried; null: no Redis.
             */
            redis: ("ok" | "unavailable" | "reconnecting") | null;
            /**
             * Redis Seconds
             * @description Seconds in this state.
             */
            redis_seconds: number | null;
            /**
             * Redis Opened
             * @description How often Redis became unavailable since the server started.
             */
            redis_opened: number | null;
            /**
             * Reconciled Ago
             * @description Seconds since Redis was last compared with the database.
             */
            reconciled_ago: number | null;
        };
        /**
         * EventDocument
         * @description One transition.
         */
        EventDocument: {
            /** Entity */
            entity: string;
            /**
             * Id
             * @description JOB, JOB/STAGE, JOB/STAGE/PART, or the number of a worker.
             */
            id: number | string | null;
            /** Version */
            version: number;
            /** From */
            from: string | null;
            /** To */
            to: string;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Job */
            job: number | null;
            /** Stage */
            stage: string | null;
            /** Part */
            part: number | null;
            /** Worker */
            worker: number | null;
            /** Worker Name */
            worker_name: string | null;
            /** Token */
            token: number | null;
            /** Data */
            data: unknown;
            /** Cursor */
            cursor: string;
        };
        /** EventMessage */
        EventMessage: {
            /** Entity */
            entity: string;
            /**
             * Id
             * @description JOB, JOB/STAGE, JOB/STAGE/PART, or the number of a worker.
             */
            id: number | string | null;
            /** Version */
            version: number;
            /** From */
            from: string | null;
            /** To */
            to: string;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Job */
            job: number | null;
            /** Stage */
            stage: string | null;
            /** Part */
            part: number | null;
            /** Worker */
            worker: number | null;
            /** Worker Name */
            worker_name: string | null;
            /** Token */
            token: number | null;
            /** Data */
            data: unknown;
            /** Cursor */
            cursor: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "event";
        };
        /**
         * EventsDocument
         * @description A page of events.
         * @example {
         *       "after": "5f0c2a91d7e3.0.44",
         *       "items": [],
         *       "more": false
         *     }
         */
        EventsDocument: {
            /** Items */
            items: (components["schemas"]["EventMessage"] | components["schemas"]["StateMessage"])[];
            /**
             * After
             * @description The cursor for the next request; always present, because more may come.
             */
            after: string;
            /**
             * More
             * @description Whether more is available now; a page may be empty even so.
             */
            more: boolean;
        };
        /**
         * ExplanationDocument
         * @description Why a job, a stage or a task does not run now.
         * @example {
         *       "at": "2026-10-01T08:00:00Z",
         *       "job": 244813922304,
         *       "reasons": [
         *         {
         *           "data": {
         *             "attempt": 1,
         *             "max_attempts": 3,
         *             "seconds": 12
         *           },
         *           "kind": "retry",
         *           "more": false,
         *           "part": 3,
         *           "sentence": "retry due in 12 s (attempt 1 of 3 failed: timed out)",
         *           "stage": "encode",
         *           "subject": "encode/3",
         *           "tasks": 1
         *         }
         *       ],
         *       "runs": false,
         *       "status": "processing"
         *     }
         */
        ExplanationDocument: {
            /** Job */
            job: number;
            /** Stage */
            stage: string | null;
            /** Part */
            part: number | null;
            /**
             * Status
             * @description The status of the job.
             */
            status: string;
            /**
             * Runs
             * @description Whether a task that was asked about runs under a valid lease.
             */
            runs: boolean;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Reasons */
            reasons: components["schemas"]["ReasonDocument"][];
        };
        /** FailRequest */
        FailRequest: {
            /** Items */
            items: components["schemas"]["FailureItem"][];
        };
        /** FailureItem */
        FailureItem: {
            /** Permit */
            permit: string;
            /** Error */
            error: unknown;
            /**
             * Retryable
             * @default true
             */
            retryable: boolean;
            /** Retry In */
            retry_in?: number | null;
        };
        /**
         * ForceRequest
         * @example {
         *       "reason": "finished manually",
         *       "status": "completed"
         *     }
         */
        ForceRequest: {
            /**
             * Reason
             * @description Why; the history records it.
             */
            reason: string;
            /**
             * Status
             * @description The new status.
             * @enum {string}
             */
            status: "pending" | "failed" | "completed";
        };
        /**
         * GridDocument
         * @description The states of one stage: tasks × tags.
         */
        GridDocument: {
            /** Name */
            name: string;
            /** Job */
            job: string;
            /** Tasks */
            tasks: number;
            /** Expected Tags */
            expected_tags: string[];
            lowest: components["schemas"]["StateDocument"];
            /** States */
            states: components["schemas"]["StateDocument"][];
        };
        /**
         * GroupChangeDocument
         * @example {
         *       "changed": 3,
         *       "name": "nightly-2026-11-19",
         *       "refused": 0
         *     }
         */
        GroupChangeDocument: {
            /** Name */
            name: string;
            /**
             * Changed
             * @description Jobs that were changed.
             */
            changed: number;
            /**
             * Refused
             * @description Jobs that changed meanwhile and could not be.
             */
            refused: number;
        };
        /**
         * GroupDocument
         * @example {
         *       "counts": {
         *         "completed": 37,
         *         "pending": 1,
         *         "running": 2
         *       },
         *       "created_at": "2026-11-19T02:00:00Z",
         *       "jobs": 40,
         *       "name": "nightly-2026-11-19",
         *       "progress": 92.5,
         *       "round": 1,
         *       "status": "running",
         *       "user_id": "ada"
         *     }
         */
        GroupDocument: {
            /** Name */
            name: string;
            /** User Id */
            user_id: string;
            /**
             * Status
             * @description The lowest of: quarantined, failed, cancelled, running, pending, completed.
             */
            status: string;
            /** Jobs */
            jobs: number;
            /**
             * Counts
             * @description Jobs by status; `running` is every phase.
             */
            counts: {
                [key: string]: number;
            };
            /**
             * Progress
             * @description Jobs that are not active any more, in percent.
             */
            progress: number;
            /**
             * Round
             * @description +1 when a job joins it, or runs again, after it has finished.
             */
            round: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Finished At */
            finished_at: string | null;
            /** Callback */
            callback: string | null;
        };
        /** Health */
        Health: {
            /**
             * Status
             * @enum {string}
             */
            status: "ok" | "unavailable";
            /** Checks */
            checks: {
                [key: string]: string;
            };
            /** @description For admins. */
            deployment: components["schemas"]["DeploymentHealth"] | null;
        };
        /** Home */
        Home: {
            /** Name */
            name: string;
            /**
             * Version
             * @description Of the software.
             */
            version: string;
            /**
             * Links
             * @description Paths by name.
             */
            links: {
                [key: string]: string;
            };
        };
        /**
         * JobDetailDocument
         * @description A job with its stages, running tasks and outputs.
         * @example {
         *       "actor": "orchestrator",
         *       "archived": false,
         *       "changed_at": "2026-01-01T12:00:05Z",
         *       "created_at": "2026-01-01T12:00:00Z",
         *       "digest": "5c9f…",
         *       "id": 244813922304,
         *       "outputs": {},
         *       "phase": "processing",
         *       "pipeline": "transcode",
         *       "priority": 5,
         *       "progress": 42.5,
         *       "retrying": [],
         *       "running": [],
         *       "spec": {
         *         "source": "https://example.com/video.mov"
         *       },
         *       "stages": [],
         *       "started_at": "2026-01-01T12:00:01Z",
         *       "status": "processing",
         *       "user_id": "ada",
         *       "version": 3
         *     }
         */
        JobDetailDocument: {
            /** Id */
            id: number;
            /** Pipeline */
            pipeline: string;
            /**
             * Digest
             * @description Digest of the pipeline's graph that the job runs.
             */
            digest: string;
            /** User Id */
            user_id: string;
            status: components["schemas"]["JobStatus"];
            phase: components["schemas"]["JobStatus"];
            /**
             * Priority
             * @description 0 to 10, which is most urgent.
             */
            priority: number;
            /** Spec */
            spec: unknown;
            /** Run After */
            run_after: string | null;
            /** Error */
            error: unknown;
            /** Degraded */
            degraded: unknown;
            /** Inconsistent */
            inconsistent: string | null;
            /** Flagged */
            flagged: string | null;
            /** Flagged At */
            flagged_at: string | null;
            /**
             * Version
             * @description +1 with every transition; the ETag of the job.
             */
            version: number;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Finished At */
            finished_at: string | null;
            /** Resource Id */
            resource_id: number | null;
            /** Group */
            group: string | null;
            /** Archived */
            archived: boolean;
            /**
             * Progress
             * @description Percent.
             */
            progress: number;
            /** Outputs */
            outputs: {
                [key: string]: unknown;
            };
            /** Stages */
            stages: components["schemas"]["StageDocument"][];
            /**
             * Running
             * @description Running tasks, at most 100.
             */
            running: components["schemas"]["TaskDocument"][];
            /**
             * Retrying
             * @description Failed tasks that wait for their retry.
             */
            retrying: components["schemas"]["TaskDocument"][];
        };
        /**
         * JobDocument
         * @example {
         *       "actor": "orchestrator",
         *       "archived": false,
         *       "changed_at": "2026-01-01T12:00:05Z",
         *       "created_at": "2026-01-01T12:00:00Z",
         *       "digest": "5c9f…",
         *       "id": 244813922304,
         *       "phase": "processing",
         *       "pipeline": "transcode",
         *       "priority": 5,
         *       "spec": {
         *         "source": "https://example.com/video.mov"
         *       },
         *       "started_at": "2026-01-01T12:00:01Z",
         *       "status": "processing",
         *       "user_id": "ada",
         *       "version": 3
         *     }
         */
        JobDocument: {
            /** Id */
            id: number;
            /** Pipeline */
            pipeline: string;
            /**
             * Digest
             * @description Digest of the pipeline's graph that the job runs.
             */
            digest: string;
            /** User Id */
            user_id: string;
            status: components["schemas"]["JobStatus"];
            phase: components["schemas"]["JobStatus"];
            /**
             * Priority
             * @description 0 to 10, which is most urgent.
             */
            priority: number;
            /** Spec */
            spec: unknown;
            /** Run After */
            run_after: string | null;
            /** Error */
            error: unknown;
            /** Degraded */
            degraded: unknown;
            /** Inconsistent */
            inconsistent: string | null;
            /** Flagged */
            flagged: string | null;
            /** Flagged At */
            flagged_at: string | null;
            /**
             * Version
             * @description +1 with every transition; the ETag of the job.
             */
            version: number;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Finished At */
            finished_at: string | null;
            /** Resource Id */
            resource_id: number | null;
            /** Group */
            group: string | null;
            /** Archived */
            archived: boolean;
        };
        /**
         * JobSpansDocument
         * @description The state of every task of a job, neighbouring parts in the same state as one span.
         * @example {
         *       "interval": 1000,
         *       "job": 244813922304,
         *       "now": 1767268805000,
         *       "since": 1767268801000,
         *       "stages": [],
         *       "statuses": [
         *         "new",
         *         "ready",
         *         "running",
         *         "done",
         *         "error",
         *         "skipped",
         *         "cancelled"
         *       ],
         *       "truncated": false,
         *       "version": 3
         *     }
         */
        JobSpansDocument: {
            /** Job */
            job: number;
            /**
             * Version
             * @description Of the job.
             */
            version: number;
            /**
             * Now
             * @description The time of the store in milliseconds since 1970.
             */
            now: number;
            /**
             * Since
             * @description When the job started, in milliseconds since 1970.
             */
            since: number | null;
            /**
             * Interval
             * @description Milliseconds of an interval of `finished`.
             */
            interval: number;
            /** Statuses */
            statuses: string[];
            /**
             * Truncated
             * @description Whether the job has more tasks than are shown.
             */
            truncated: boolean;
            /** Stages */
            stages: components["schemas"]["StageSpansDocument"][];
        };
        /**
         * JobStatus
         * @description The status of a job.
         * @enum {string}
         */
        JobStatus: "pending" | "validating" | "planning" | "downloading_inputs" | "processing" | "uploading_outputs" | "completed" | "failed" | "quarantined" | "cancelled";
        /** KeyDocument */
        KeyDocument: {
            /** Id */
            id: string;
            kind: components["schemas"]["KeyKind"];
            /** Name */
            name: string;
            /** User Id */
            user_id: string;
            /** Scopes */
            scopes: components["schemas"]["Scope"][];
            /** Parent */
            parent: string | null;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Expires At */
            expires_at: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /** Used At */
            used_at: string | null;
        };
        /**
         * KeyKind
         * @description The kind of a row: a key, a session of a browser, or the code that opens a session.
         * @enum {string}
         */
        KeyKind: "key" | "session" | "code";
        /** LeaveAnswer */
        LeaveAnswer: {
            /** Changed */
            changed: boolean;
        };
        /** LeaveRequest */
        LeaveRequest: {
            /** Worker Id */
            worker_id: number;
            /** Reason */
            reason?: string | null;
        };
        /**
         * LimitDocument
         * @description A limit. One that was removed stays as a record.
         * @example {
         *       "actor": "key:ops",
         *       "changed_at": "2026-10-01T08:00:00Z",
         *       "created_at": "2026-10-01T08:00:00Z",
         *       "declared": false,
         *       "id": 3,
         *       "name": "customers",
         *       "per": "spec.customer",
         *       "period": 3600,
         *       "reason": "fair use",
         *       "running": 4,
         *       "starts": 100,
         *       "weights": {}
         *     }
         */
        LimitDocument: {
            /** Id */
            id: number;
            /** Name */
            name: string;
            /** Pipeline */
            pipeline: string | null;
            /** Stage */
            stage: string | null;
            /** User Id */
            user_id: string | null;
            /** Per */
            per: string | null;
            /** Running */
            running: number | null;
            /** Starts */
            starts: number | null;
            /** Period */
            period: number | null;
            /** Weights */
            weights: {
                [key: string]: number;
            };
            /**
             * Declared
             * @description Whether it comes with a pipeline, and no operator has changed it.
             */
            declared: boolean;
            /** Reason */
            reason: string | null;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Removed At */
            removed_at: string | null;
        };
        /**
         * LimitRequest
         * @description Which tasks are counted, by which key, and how many a key may have. Without numbers, keys take turns.
         * @example {
         *       "per": "spec.customer",
         *       "period": 3600,
         *       "reason": "fair use",
         *       "running": 4,
         *       "starts": 100
         *     }
         */
        LimitRequest: {
            /**
             * Pipeline
             * @description Only tasks of this pipeline.
             */
            pipeline?: string | null;
            /**
             * Stage
             * @description With `pipeline`: only this stage.
             */
            stage?: string | null;
            /**
             * User Id
             * @description Only tasks of this user.
             */
            user_id?: string | null;
            /**
             * Per
             * @description Count each `user`, `job` or value such as `spec.customer` apart.
             */
            per?: string | null;
            /**
             * Running
             * @description Tasks that may run at once.
             */
            running?: number | null;
            /**
             * Starts
             * @description Tasks that may start in any `period`.
             */
            starts?: number | null;
            /**
             * Period
             * @description Seconds.
             */
            period?: number | null;
            /**
             * Weights
             * @description Turns of a key for each turn of another.
             */
            weights?: {
                [key: string]: number;
            };
            /**
             * Reason
             * @description Why; it is shown with the limit.
             */
            reason?: string | null;
        };
        /**
         * LimitStatusDocument
         * @description A limit, and the keys with most tasks.
         * @example {
         *       "actor": "key:ops",
         *       "changed_at": "2026-10-01T08:00:00Z",
         *       "created_at": "2026-10-01T08:00:00Z",
         *       "declared": false,
         *       "id": 3,
         *       "name": "customers",
         *       "per": "spec.customer",
         *       "period": 3600,
         *       "reason": "fair use",
         *       "running": 4,
         *       "starts": 100,
         *       "uses": [
         *         {
         *           "key": "acme",
         *           "running": 4,
         *           "starts": 12,
         *           "waiting": 37
         *         }
         *       ],
         *       "weights": {}
         *     }
         */
        LimitStatusDocument: {
            /** Id */
            id: number;
            /** Name */
            name: string;
            /** Pipeline */
            pipeline: string | null;
            /** Stage */
            stage: string | null;
            /** User Id */
            user_id: string | null;
            /** Per */
            per: string | null;
            /** Running */
            running: number | null;
            /** Starts */
            starts: number | null;
            /** Period */
            period: number | null;
            /** Weights */
            weights: {
                [key: string]: number;
            };
            /**
             * Declared
             * @description Whether it comes with a pipeline, and no operator has changed it.
             */
            declared: boolean;
            /** Reason */
            reason: string | null;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Removed At */
            removed_at: string | null;
            /** Uses */
            uses: components["schemas"]["LimitUseDocument"][];
        };
        /**
         * LimitUseDocument
         * @description A key of a limit.
         */
        LimitUseDocument: {
            /**
             * Key
             * @description Empty where all tasks are counted together.
             */
            key: string;
            /**
             * Running
             * @description Tasks that run or are the next to be claimed.
             */
            running: number;
            /**
             * Starts
             * @description Tasks that have started within the period.
             */
            starts: number;
            /**
             * Waiting
             * @description Tasks that wait, counted up to 1000.
             */
            waiting: number;
        };
        /** ListedFile */
        ListedFile: {
            /** Key */
            key: string;
            /** Size */
            size: number;
            /**
             * Modified
             * Format: date-time
             */
            modified: string;
        };
        /** ListedFiles */
        ListedFiles: {
            /** Files */
            files: components["schemas"]["ListedFile"][];
        };
        /**
         * LoadDocument
         * @description The tasks of a pipeline that wait and run.
         */
        LoadDocument: {
            /** Pipeline */
            pipeline: string;
            ready: components["schemas"]["CountDocument"];
            running: components["schemas"]["CountDocument"];
            /**
             * Oldest
             * @description Seconds that its oldest ready task has been ready; for admins.
             */
            oldest: number | null;
        };
        /** LogDocument */
        LogDocument: {
            /** Job Id */
            job_id: number;
            /** Id */
            id: number;
            /** Stage */
            stage: string;
            /** Part */
            part: number;
            /** Token */
            token: number;
            /**
             * At
             * Format: date-time
             */
            at: string;
            /** Level */
            level: string;
            /** Message */
            message: string;
            /** Metadata */
            metadata: unknown;
        };
        /**
         * LogLine
         * @description A line that a run logs.
         */
        LogLine: {
            /** Message */
            message: string;
            /**
             * Level
             * @default info
             */
            level: string;
            /** Metadata */
            metadata?: unknown;
        };
        /** MachineDocument */
        MachineDocument: {
            /** Entity */
            entity: string;
            /** States */
            states: string[];
            /** Initial States */
            initial_states: string[];
            /** Terminal */
            terminal: string[];
            /** Transitions */
            transitions: components["schemas"]["TransitionDocument"][];
        };
        /**
         * MachineName
         * @enum {string}
         */
        MachineName: "job" | "task" | "worker";
        /**
         * MadeDocument
         * @example {
         *       "id": 244813922304,
         *       "job": 244813922305,
         *       "verdict": "ok"
         *     }
         */
        MadeDocument: {
            /**
             * Id
             * @description The video.
             */
            id: number;
            /**
             * Job
             * @description The job of its new version.
             */
            job: number;
            /** @description `ok`, or `repeated` for a repeated request. */
            verdict: components["schemas"]["Verdict"];
        };
        /**
         * MinutesDocument
         * @description The last hour by minute, the present one last. Times are in milliseconds since 1970, waits in seconds.
         */
        MinutesDocument: {
            /** At */
            at: number[];
            /**
             * Completed
             * @description Jobs.
             */
            completed: number[];
            /**
             * Failed
             * @description Jobs that failed or were quarantined.
             */
            failed: number[];
            /** Attempts Done */
            attempts_done: number[];
            /** Attempts Failed */
            attempts_failed: number[];
            /**
             * Wait Median
             * @description How long claimed tasks had been ready; null without claims.
             */
            wait_median: (number | null)[];
            /** Wait P95 */
            wait_p95: (number | null)[];
            /**
             * Complete
             * @description False where events were skipped because there were too many.
             */
            complete: boolean;
        };
        /**
         * MonthDocument
         * @description A month of the archive, or one that was deleted from it after an export.
         * @example {
         *       "deleted": false,
         *       "exported": true,
         *       "finished_at": "2026-11-02T08:00:00Z",
         *       "jobs": 1204,
         *       "month": "2026-10"
         *     }
         */
        MonthDocument: {
            /**
             * Month
             * @description The month in which its jobs were created.
             */
            month: string;
            /** Jobs */
            jobs: number;
            /** Finished At */
            finished_at: string | null;
            /**
             * Exported
             * @description Whether the storage has an export of it.
             */
            exported: boolean;
            /**
             * Deleted
             * @description Whether only its export is left.
             */
            deleted: boolean;
        };
        /**
         * NewBackfill
         * @example {
         *       "dry_run": true,
         *       "end": "2026-01-02T00:00:00Z",
         *       "start": "2026-01-01T00:00:00Z"
         *     }
         */
        NewBackfill: {
            /**
             * Start
             * Format: date-time
             */
            start: string;
            /**
             * End
             * Format: date-time
             */
            end: string;
            /**
             * @description `allow`, or `queue_all` for one after the other.
             * @default allow
             */
            overlap: components["schemas"]["Overlap"];
            /**
             * Dry Run
             * @description Only list the ticks.
             * @default false
             */
            dry_run: boolean;
        };
        /**
         * NewJob
         * @description A job to submit.
         * @example {
         *       "pipeline": "transcode",
         *       "priority": 5,
         *       "spec": {
         *         "source": "https://example.com/video.mov"
         *       }
         *     }
         */
        NewJob: {
            /** Pipeline */
            pipeline: string;
            /**
             * Digest
             * @description The version of the pipeline, by the beginning of its digest; left out: the one that new jobs run.
             */
            digest?: string | null;
            /**
             * Spec
             * @description What the pipeline asks for; 256 KiB at most.
             */
            spec?: unknown;
            /**
             * Priority
             * @default 5
             */
            priority: number | ("low" | "normal" | "high" | "critical");
            /**
             * Delay
             * @description Seconds until its first tasks may run.
             * @default 0
             */
            delay: number;
            /**
             * Run After
             * @description The same as an instant; it wins over `delay`.
             */
            run_after?: string | null;
            /**
             * Idempotency Key
             * @description As the header Idempotency-Key, for this job.
             */
            idempotency_key?: string | null;
            /**
             * Callback
             * @description A URL that gets the events of the job: https://…
             */
            callback?: string | null;
            /**
             * Group
             * @description The group that it joins, by name.
             */
            group?: string | null;
            /**
             * Group Callback
             * @description A URL that gets an event when the whole group has finished.
             */
            group_callback?: string | null;
            /**
             * After
             * @description Ids of jobs, and groups as `group:NAME`, that must complete before it starts.
             */
            after?: (number | string)[];
            /**
             * @description When one of them fails: it waits for a retry, is cancelled, or starts when all have ended.
             * @default wait
             */
            after_failure: components["schemas"]["AfterFailure"];
            /**
             * User Id
             * @description For whom; only an admin may name another than its own user.
             */
            user_id?: string | null;
        };
        /**
         * NewJobs
         * @description Jobs that are made together, all or none.
         * @example {
         *       "jobs": [
         *         {
         *           "pipeline": "transcode",
         *           "spec": {
         *             "source": "https://example.com/video.mov"
         *           }
         *         }
         *       ]
         *     }
         */
        NewJobs: {
            /** Jobs */
            jobs: components["schemas"]["NewJob"][];
        };
        /**
         * NewKey
         * @example {
         *       "name": "ada-laptop",
         *       "scopes": [
         *         "jobs:read",
         *         "jobs:write"
         *       ],
         *       "user_id": "ada"
         *     }
         */
        NewKey: {
            /**
             * Name
             * @description Who or what uses it; for scope `worker`, the worker's name.
             */
            name: string;
            /**
             * Scopes
             * @description What it may do.
             */
            scopes: components["schemas"]["Scope"][];
            /**
             * User Id
             * @description The user whose jobs it sees; an admin key sees everybody's.
             * @default
             */
            user_id: string;
            /**
             * Lifetime
             * @description Seconds until it expires; never if left out.
             */
            lifetime?: number | null;
        };
        /** NewKeyDocument */
        NewKeyDocument: {
            /** Id */
            id: string;
            kind: components["schemas"]["KeyKind"];
            /** Name */
            name: string;
            /** User Id */
            user_id: string;
            /** Scopes */
            scopes: components["schemas"]["Scope"][];
            /** Parent */
            parent: string | null;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Expires At */
            expires_at: string | null;
            /** Revoked At */
            revoked_at: string | null;
            /** Used At */
            used_at: string | null;
            /**
             * Key
             * @description The key itself, `reel_<id>_<secret>`. It is stored nowhere and is not shown again.
             */
            key: string;
        };
        /**
         * NewSchedule
         * @example {
         *       "name": "nightly",
         *       "pipeline": "transcode",
         *       "spec": {
         *         "source": "https://example.com/video.mov"
         *       },
         *       "timezone": "Europe/Berlin",
         *       "timing": "30 2 * * *"
         *     }
         */
        NewSchedule: {
            /**
             * Name
             * @description Unique in the deployment.
             */
            name: string;
            /**
             * Pipeline
             * @description The pipeline of its jobs.
             */
            pipeline: string;
            /**
             * Timing
             * @description A cron expression, @hourly, @daily, @weekly, @monthly, @yearly, or `every 15m`.
             */
            timing: string;
            /**
             * Spec
             * @description The spec of its jobs.
             */
            spec?: unknown;
            /**
             * Priority
             * @description 0 to 10, which is most urgent; or low, normal, high, critical.
             * @default 5
             */
            priority: number | string;
            /**
             * User Id
             * @description Whose jobs; only an admin names another.
             */
            user_id?: string | null;
            /**
             * Timezone
             * @description An IANA time zone, such as Europe/Berlin.
             * @default UTC
             */
            timezone: string;
            /** @default skip */
            overlap: components["schemas"]["Overlap"];
            /** @default latest */
            catch_up: components["schemas"]["CatchUp"];
            /**
             * Catch Up Window
             * @description Seconds that the catch-up policy `all` looks back.
             * @default 86400
             */
            catch_up_window: number;
            /**
             * Jitter
             * @description Seconds by which a job may be later than its tick.
             * @default 0
             */
            jitter: number;
            /**
             * Starts At
             * @description No tick is before it.
             */
            starts_at?: string | null;
            /**
             * Ends At
             * @description No tick is after it.
             */
            ends_at?: string | null;
        };
        /**
         * NewVideoRequest
         * @description A new video from a source or an upload.
         * @example {
         *       "profile": "h264",
         *       "source": "https://example.com/movie.mov",
         *       "title": "Holiday"
         *     }
         * @example {
         *       "priority": 7,
         *       "title": "Holiday",
         *       "upload": "0d0b1b0c6f7c4b0e9d7a5d1b2c3d4e5f"
         *     }
         */
        NewVideoRequest: {
            /**
             * Source
             * @description http(s)://; s3:// or gs:// where REEL_INPUT_BUCKETS allows it; admins also a path below REEL_INPUT_ROOTS.
             */
            source?: string | null;
            /**
             * Upload
             * @description The id of a complete upload.
             */
            upload?: string | null;
            /**
             * Title
             * @default
             */
            title: string;
            /**
             * Profile
             * @description The name of a profile, or a profile.
             */
            profile?: string | {
                [key: string]: unknown;
            } | null;
            /**
             * Qualities
             * @description Only these rungs of the profile. Default: all.
             */
            qualities?: string[] | null;
            /** Captions */
            captions?: ("keep" | "drop") | null;
            /**
             * Digest
             * @description The version of the pipeline, by the beginning of its digest; left out: the one that new jobs run.
             */
            digest?: string | null;
            /**
             * Priority
             * @default 5
             */
            priority: number | ("low" | "normal" | "high" | "critical");
            /**
             * Delay
             * @description Seconds until its tasks may start.
             * @default 0
             */
            delay: number;
            /**
             * User Id
             * @description The user that it belongs to; only an admin may name another user.
             */
            user_id?: string | null;
            /**
             * Callback
             * @description A URL that gets the events of the job: https://…
             */
            callback?: string | null;
        };
        /**
         * NewWebhook
         * @example {
         *       "events": [
         *         "video.ready",
         *         "job.failed"
         *       ],
         *       "url": "https://example.com/hook"
         *     }
         */
        NewWebhook: {
            /**
             * Url
             * @description Where events are sent: https://…
             */
            url: string;
            /**
             * Events
             * @description Types of events; empty for all.
             */
            events?: string[];
            /**
             * Description
             * @description A note for people.
             * @default
             */
            description: string;
            /**
             * User Id
             * @description Whose jobs; an admin may name anybody, or leave it out for the jobs of all users.
             */
            user_id?: string | null;
        };
        /**
         * OldestDocument
         * @description A task that has been ready for long.
         */
        OldestDocument: {
            /**
             * Task
             * @description JOB/STAGE/PART
             */
            task: string;
            /** Job */
            job: number;
            /** Stage */
            stage: string;
            /** Pipeline */
            pipeline: string;
            /**
             * Ready At
             * Format: date-time
             */
            ready_at: string;
        };
        /** OperationRequest */
        OperationRequest: {
            /**
             * Reason
             * @description Why; the history records it.
             */
            reason?: string | null;
        };
        /**
         * Overlap
         * @description What happens to a tick while a job of an earlier tick is active.
         * @enum {string}
         */
        Overlap: "skip" | "queue_one" | "queue_all" | "cancel_other" | "allow";
        /**
         * OverviewDocument
         * @description The state of the deployment; with the key of a user, of the newest 10,000 jobs of that user.
         * @example {
         *       "attention": [],
         *       "delayed": {
         *         "capped": false,
         *         "count": 0
         *       },
         *       "jobs": {
         *         "pending": {
         *           "capped": false,
         *           "count": 3
         *         }
         *       },
         *       "minutes": {
         *         "at": [
         *           1767268800000
         *         ],
         *         "attempts_done": [
         *           40
         *         ],
         *         "attempts_failed": [
         *           1
         *         ],
         *         "complete": true,
         *         "completed": [
         *           4
         *         ],
         *         "failed": [
         *           0
         *         ],
         *         "wait_median": [
         *           0.4
         *         ],
         *         "wait_p95": [
         *           1.5
         *         ]
         *       },
         *       "now": 1767268805000,
         *       "oldest": [],
         *       "outbox": {
         *         "capped": false,
         *         "count": 0
         *       },
         *       "pipelines": [],
         *       "slots": {
         *         "busy": 3,
         *         "total": 8,
         *         "workers": {
         *           "active": 2
         *         }
         *       }
         *     }
         */
        OverviewDocument: {
            /**
             * Now
             * @description The time of the store when it was read, in milliseconds since 1970.
             */
            now: number;
            /**
             * Jobs
             * @description By status. Completed ones are counted among the newest jobs.
             */
            jobs: {
                [key: string]: components["schemas"]["CountDocument"];
            };
            /** Pipelines */
            pipelines: components["schemas"]["LoadDocument"][];
            /**
             * Oldest
             * @description The tasks that have been ready for longest.
             */
            oldest: components["schemas"]["OldestDocument"][];
            /** @description For admins. */
            slots: components["schemas"]["SlotsDocument"] | null;
            /** @description Tasks that are not due yet; for admins. */
            delayed: components["schemas"]["CountDocument"] | null;
            /** @description Deliveries that wait to be sent; for admins. */
            outbox: components["schemas"]["CountDocument"] | null;
            minutes: components["schemas"]["MinutesDocument"];
            /** Attention */
            attention: components["schemas"]["AttentionDocument"][];
        };
        /** PageDocument[DeliveryDocument] */
        PageDocument_DeliveryDocument_: {
            /** Items */
            items: components["schemas"]["DeliveryDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[EventDocument] */
        PageDocument_EventDocument_: {
            /** Items */
            items: components["schemas"]["EventDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[GroupDocument] */
        PageDocument_GroupDocument_: {
            /** Items */
            items: components["schemas"]["GroupDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[JobDocument] */
        PageDocument_JobDocument_: {
            /** Items */
            items: components["schemas"]["JobDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[LogDocument] */
        PageDocument_LogDocument_: {
            /** Items */
            items: components["schemas"]["LogDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[StepDocument] */
        PageDocument_StepDocument_: {
            /** Items */
            items: components["schemas"]["StepDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[TaskDocument] */
        PageDocument_TaskDocument_: {
            /** Items */
            items: components["schemas"]["TaskDocument"][];
            /** After */
            after: string | null;
        };
        /** PageDocument[VideoDocument] */
        PageDocument_VideoDocument_: {
            /** Items */
            items: components["schemas"]["VideoDocument"][];
            /** After */
            after: string | null;
        };
        /**
         * Pause
         * @example {
         *       "note": "the disk is full"
         *     }
         */
        Pause: {
            /**
             * Note
             * @description Why it is paused.
             * @default
             */
            note: string;
        };
        /**
         * PauseDocument
         * @description A pause. When it has been lifted it stays as a record.
         * @example {
         *       "actor": "key:ops",
         *       "id": 7,
         *       "paused_at": "2026-10-01T08:00:00Z",
         *       "pipeline": "transcode",
         *       "reason": "new driver",
         *       "scope": "stage",
         *       "stage": "encode"
         *     }
         */
        PauseDocument: {
            /** Id */
            id: number;
            scope: components["schemas"]["PauseScope"];
            /** Pipeline */
            pipeline: string | null;
            /** Stage */
            stage: string | null;
            /** User Id */
            user_id: string | null;
            /** Worker */
            worker: string | null;
            /** Reason */
            reason: string | null;
            /** Actor */
            actor: string;
            /**
             * Paused At
             * Format: date-time
             */
            paused_at: string;
            /** Resumed At */
            resumed_at: string | null;
            /** Resumed By */
            resumed_by: string | null;
            /** Resumed Reason */
            resumed_reason: string | null;
        };
        /**
         * PauseRequest
         * @example {
         *       "pipeline": "transcode",
         *       "reason": "new driver",
         *       "stage": "encode"
         *     }
         */
        PauseRequest: {
            /**
             * Everything
             * @description All work of the deployment.
             * @default false
             */
            everything: boolean;
            /**
             * Pipeline
             * @description All jobs of this pipeline.
             */
            pipeline?: string | null;
            /**
             * Stage
             * @description With `pipeline`: only this stage.
             */
            stage?: string | null;
            /**
             * User Id
             * @description All jobs of this user.
             */
            user_id?: string | null;
            /**
             * Worker
             * @description The instances of a worker of this name.
             */
            worker?: string | null;
            /**
             * Reason
             * @description Why; it is shown where work waits.
             */
            reason?: string | null;
            /**
             * Now
             * @description Release running tasks too, which does not count as an attempt.
             * @default false
             */
            now: boolean;
        };
        /**
         * PauseScope
         * @description What a pause is about.
         * @enum {string}
         */
        PauseScope: "all" | "pipeline" | "stage" | "user" | "worker";
        /**
         * PauseTarget
         * @description One of everything, a pipeline (or a stage of it), a user, or a worker's name.
         * @example {
         *       "pipeline": "transcode",
         *       "reason": "new driver",
         *       "stage": "encode"
         *     }
         */
        PauseTarget: {
            /**
             * Everything
             * @description All work of the deployment.
             * @default false
             */
            everything: boolean;
            /**
             * Pipeline
             * @description All jobs of this pipeline.
             */
            pipeline?: string | null;
            /**
             * Stage
             * @description With `pipeline`: only this stage.
             */
            stage?: string | null;
            /**
             * User Id
             * @description All jobs of this user.
             */
            user_id?: string | null;
            /**
             * Worker
             * @description The instances of a worker of this name.
             */
            worker?: string | null;
            /**
             * Reason
             * @description Why; it is shown where work waits.
             */
            reason?: string | null;
        };
        /**
         * PausedDocument
         * @description The pause in force.
         * @example {
         *       "actor": "key:ops",
         *       "changed": true,
         *       "id": 7,
         *       "paused_at": "2026-10-01T08:00:00Z",
         *       "pipeline": "transcode",
         *       "reason": "new driver",
         *       "released": 0,
         *       "scope": "stage",
         *       "stage": "encode"
         *     }
         */
        PausedDocument: {
            /** Id */
            id: number;
            scope: components["schemas"]["PauseScope"];
            /** Pipeline */
            pipeline: string | null;
            /** Stage */
            stage: string | null;
            /** User Id */
            user_id: string | null;
            /** Worker */
            worker: string | null;
            /** Reason */
            reason: string | null;
            /** Actor */
            actor: string;
            /**
             * Paused At
             * Format: date-time
             */
            paused_at: string;
            /** Resumed At */
            resumed_at: string | null;
            /** Resumed By */
            resumed_by: string | null;
            /** Resumed Reason */
            resumed_reason: string | null;
            /**
             * Changed
             * @description False where the target was paused already.
             */
            changed: boolean;
            /**
             * Released
             * @description Running tasks that were released.
             */
            released: number;
        };
        /**
         * PipelineDocument
         * @description A version of a pipeline: a graph that was declared under its name.
         * @example {
         *       "current": true,
         *       "declared_at": "2026-01-01T12:00:00Z",
         *       "digest": "5c9f…",
         *       "name": "thumbs",
         *       "pinned": false,
         *       "stages": [],
         *       "workers": [
         *         "encoder-1"
         *       ]
         *     }
         */
        PipelineDocument: {
            /** Name */
            name: string;
            /** Digest */
            digest: string;
            /**
             * Declared At
             * Format: date-time
             * @description When it was first declared.
             */
            declared_at: string;
            /**
             * Current
             * @description Whether new jobs run it.
             */
            current: boolean;
            /**
             * Pinned
             * @description Whether an operator has pinned it.
             */
            pinned: boolean;
            /** Stages */
            stages: components["schemas"]["PipelineStageDocument"][];
            /**
             * Workers
             * @description Workers that have its code; for admins.
             */
            workers: string[];
            /**
             * Spec
             * @description The JSON Schema of specs; null accepts any.
             */
            spec: unknown;
        };
        /**
         * PipelineStageDocument
         * @description A stage as declared.
         */
        PipelineStageDocument: {
            /** Name */
            name: string;
            /**
             * After
             * @description The stages that it waits for.
             */
            after: string[];
            /**
             * Each
             * @description The path of what it fans out over; null for a stage of one task.
             */
            each: string | null;
            /** Phase */
            phase: string;
            /** Weight */
            weight: number;
            /** Needs */
            needs: string[];
            /** Prefers */
            prefers: string[];
            /** Attempts */
            attempts: number;
            /** Required */
            required: boolean;
        };
        /**
         * PlaybackDocument
         * @example {
         *       "dash": "https://example.com/play/Zk1…/videos/244813922304/manifest.mpd",
         *       "expires_at": "2026-01-01T18:00:00Z",
         *       "url": "https://example.com/play/Zk1…/videos/244813922304/master.m3u8"
         *     }
         */
        PlaybackDocument: {
            /**
             * Url
             * @description The HLS playlist. The URL gives access to the video: keep it secret.
             */
            url: string;
            /**
             * Dash
             * @description The DASH manifest, once a version is complete.
             */
            dash: string;
            /**
             * Expires At
             * Format: date-time
             * @description When the URL expires; earlier if its key or its video is deleted.
             */
            expires_at: string;
        };
        /**
         * PlaybackRequest
         * @example {
         *       "lifetime": 3600
         *     }
         */
        PlaybackRequest: {
            /**
             * Lifetime
             * @description Seconds until the URL expires.
             * @default 21600
             */
            lifetime: number;
            /**
             * Version
             * @description A version (job) to play; default the current one, or the one in progress.
             */
            version?: number | null;
        };
        /**
         * PriorityRequest
         * @example {
         *       "priority": "high",
         *       "reason": "live tonight"
         *     }
         */
        PriorityRequest: {
            /**
             * Reason
             * @description Why; the history records it.
             */
            reason?: string | null;
            /**
             * Priority
             * @description 0 to 10, which is most urgent; or low, normal, high, critical.
             */
            priority: number | ("low" | "normal" | "high" | "critical");
        };
        /** ProgressItem */
        ProgressItem: {
            /** Permit */
            permit: string;
            /** Percent */
            percent?: number | null;
            /** Message */
            message?: string | null;
            /** Step */
            step?: string | null;
            /** Checkpoint */
            checkpoint?: unknown;
            /**
             * Logs
             * @default []
             */
            logs: components["schemas"]["LogLine"][];
            /**
             * Steps
             * @default []
             */
            steps: components["schemas"]["Step"][];
            /**
             * States
             * @default []
             */
            states: components["schemas"]["TaskState"][];
        };
        /**
         * QualityDocument
         * @description The progress of one rung of the ladder.
         */
        QualityDocument: {
            /** Quality */
            quality: string;
            /** Required */
            required: boolean;
            status: components["schemas"]["QualityStatus"];
            /** Segments Total */
            segments_total: number;
            /** Segments Completed */
            segments_completed: number;
            /** Progress Percent */
            progress_percent: number;
            /** Error Message */
            error_message: string | null;
            /** Started At */
            started_at: string | null;
            /** Completed At */
            completed_at: string | null;
            /** Reused From */
            reused_from: number | null;
        };
        /**
         * QualityStatus
         * @description The status of one rung.
         * @enum {string}
         */
        QualityStatus: "pending" | "in_progress" | "completed" | "failed" | "skipped";
        /** QueueDocument */
        QueueDocument: {
            /**
             * Jobs
             * @description Jobs by status; completed jobs are not counted.
             */
            jobs: {
                [key: string]: number;
            };
            /** Pipelines */
            pipelines: components["schemas"]["WaitingDocument"][];
        };
        /**
         * Ready
         * @description Each check that was made, with `ok` or what is wrong.
         */
        Ready: {
            /**
             * Status
             * @enum {string}
             */
            status: "ok" | "unavailable";
            /** Checks */
            checks: {
                [key: string]: string;
            };
        };
        /**
         * ReasonDocument
         * @description One cause why tasks do not run now, or that they run.
         */
        ReasonDocument: {
            /** @description The cause. */
            kind: components["schemas"]["ReasonKind"];
            /**
             * Sentence
             * @description The cause as a sentence for people, without its subject.
             */
            sentence: string;
            /**
             * Subject
             * @description What it is about: `encode/3`, `37 tasks of encode`; empty for the whole job.
             */
            subject: string;
            /** Stage */
            stage: string | null;
            /**
             * Part
             * @description The first part that it is about.
             */
            part: number | null;
            /**
             * Tasks
             * @description The number of tasks that it is about; 0 for the job or stage as a whole.
             */
            tasks: number;
            /**
             * More
             * @description Whether it is about more tasks than were counted.
             */
            more: boolean;
            /**
             * Data
             * @description The data of the cause: seconds until, limits, names, ids.
             */
            data: {
                [key: string]: unknown;
            };
        };
        /**
         * ReasonKind
         * @description The cause of a reason.
         * @enum {string}
         */
        ReasonKind: "runs" | "ready" | "stage" | "after" | "after_failed" | "delayed" | "retry" | "due" | "paused" | "resuming" | "limit" | "no_worker" | "needs" | "workers_paused" | "busy" | "stuck" | "preferred" | "isolated" | "behind_isolated" | "lease_expired" | "next_step" | "keeper" | "flagged" | "done" | "skipped" | "failed" | "quarantined" | "cancelled" | "completed" | "archived" | "unreadable";
        /** ReasonRequest */
        ReasonRequest: {
            /**
             * Reason
             * @description The reason; stored with the video.
             */
            reason?: string | null;
        };
        /**
         * ReasonedRequest
         * @example {
         *       "reason": "writes broken files"
         *     }
         */
        ReasonedRequest: {
            /**
             * Reason
             * @description Why; the history records it.
             */
            reason: string;
        };
        /** RegisterAnswer */
        RegisterAnswer: {
            /** Worker Id */
            worker_id: number;
            /** Name */
            name: string;
            /** Protocol */
            protocol: number;
            /** Software */
            software: string;
        };
        /**
         * RegisterRequest
         * @description The description of a worker. Its key determines its name.
         */
        RegisterRequest: {
            /** Protocol */
            protocol: number;
            /** Software */
            software: string;
            /** Hostname */
            hostname: string;
            /**
             * Slots
             * @default 1
             */
            slots: number;
            /**
             * Capabilities
             * @default []
             */
            capabilities: string[];
            /**
             * Pipelines
             * @default []
             */
            pipelines: string[];
            /** Metadata */
            metadata?: unknown;
        };
        /** ReleaseItem */
        ReleaseItem: {
            /** Permit */
            permit: string;
        };
        /** ReleaseRequest */
        ReleaseRequest: {
            /** Items */
            items: components["schemas"]["ReleaseItem"][];
        };
        /** ReportAnswer */
        ReportAnswer: {
            /** Verdicts */
            verdicts: components["schemas"]["Verdict"][];
            /** Drain */
            drain: boolean;
            /** Permits */
            permits: (string | null)[];
        };
        /** ReportRequest */
        ReportRequest: {
            /** Worker Id */
            worker_id: number;
            /**
             * Items
             * @default []
             */
            items: components["schemas"]["ProgressItem"][];
            /** Stuck */
            stuck?: number | null;
        };
        /** ResultsAnswer */
        ResultsAnswer: {
            /** Items */
            items: unknown[];
            /** After */
            after: string | null;
        };
        /**
         * RetranscodeRequest
         * @description A new version. Fields that are left out are as in the last version.
         * @example {
         *       "captions": "keep",
         *       "qualities": [
         *         "1080p"
         *       ]
         *     }
         */
        RetranscodeRequest: {
            /**
             * Qualities
             * @description Only these; others are reused. Default: all.
             */
            qualities?: string[] | null;
            /** Captions */
            captions?: ("keep" | "drop") | null;
            /** Profile */
            profile?: string | {
                [key: string]: unknown;
            } | null;
            /**
             * Priority
             * @default 5
             */
            priority: number | ("low" | "normal" | "high" | "critical");
            /**
             * Callback
             * @description A URL that gets the events of the job: https://…
             */
            callback?: string | null;
        };
        /**
         * RetryRequest
         * @example {
         *       "parts": [
         *         [
         *           3,
         *           9
         *         ],
         *         [
         *           12,
         *           12
         *         ]
         *       ],
         *       "stage": "encode"
         *     }
         */
        RetryRequest: {
            /**
             * Reason
             * @description Why; the history records it.
             */
            reason?: string | null;
            /**
             * Stage
             * @description Retry from this stage on; by default, what is unfinished.
             */
            stage?: string | null;
            /**
             * Parts
             * @description Only these parts of the stage: first and last of each range.
             */
            parts?: [
                number,
                number
            ][] | null;
        };
        /** RevokedKey */
        RevokedKey: {
            /** Id */
            id: string;
            /**
             * Revoked
             * @description Whether it was in force until now.
             */
            revoked: boolean;
        };
        /** RevokedWorker */
        RevokedWorker: {
            /** Name */
            name: string;
            /**
             * Released
             * @description Tasks that were released, without counting an attempt.
             */
            released: number;
            /**
             * Revoked
             * @description Keys that were revoked.
             */
            revoked: number;
        };
        /**
         * RollbackRequest
         * @example {
         *       "reason": "green faces"
         *     }
         */
        RollbackRequest: {
            /**
             * Reason
             * @description The reason; stored with the video.
             */
            reason?: string | null;
            /**
             * To
             * @description The version to go back to; default the one before the current one.
             */
            to?: number | null;
        };
        /** Rotation */
        Rotation: {
            /**
             * Overlap
             * @description Seconds for which the old key still works.
             * @default 86400
             */
            overlap: number;
            /**
             * Lifetime
             * @description Seconds until the new key expires; never if left out.
             */
            lifetime?: number | null;
        };
        /** RunDocument */
        RunDocument: {
            /**
             * Tick
             * Format: date-time
             */
            tick: string;
            source: components["schemas"]["RunSource"];
            outcome: components["schemas"]["RunOutcome"];
            /** Job Id */
            job_id: number | null;
            /**
             * Job Status
             * @description The status of its job; null without one, or if it is archived.
             */
            job_status: string | null;
            /** Reason */
            reason: string | null;
            /**
             * At
             * Format: date-time
             */
            at: string;
        };
        /**
         * RunOutcome
         * @description What became of a tick. The status of its job is a field of its own.
         * @enum {string}
         */
        RunOutcome: "submitted" | "queued" | "skipped" | "missed" | "failed";
        /**
         * RunSource
         * @description What a run comes from.
         * @enum {string}
         */
        RunSource: "tick" | "trigger" | "backfill";
        /**
         * RunsDocument
         * @description A page of runs, by stage and part: each attempt of each task. Times are in milliseconds since 1970.
         * @example {
         *       "attempt": [
         *         1,
         *         1
         *       ],
         *       "end": [
         *         1767268802000,
         *         null
         *       ],
         *       "job": 244813922304,
         *       "now": 1767268805000,
         *       "outcome": [
         *         1,
         *         0
         *       ],
         *       "outcomes": [
         *         "running",
         *         "done",
         *         "error",
         *         "skipped",
         *         "lost",
         *         "released",
         *         "cancelled"
         *       ],
         *       "part": [
         *         0,
         *         0
         *       ],
         *       "stage": [
         *         0,
         *         1
         *       ],
         *       "stages": [
         *         "probe",
         *         "encode"
         *       ],
         *       "start": [
         *         1767268801000,
         *         1767268802000
         *       ],
         *       "token": [
         *         1,
         *         1
         *       ],
         *       "worker": [
         *         0,
         *         0
         *       ],
         *       "workers": [
         *         "encoder-1"
         *       ]
         *     }
         */
        RunsDocument: {
            /** Job */
            job: number;
            /**
             * Now
             * @description The time of the store.
             */
            now: number;
            /** Workers */
            workers: string[];
            /** Stages */
            stages: string[];
            /** Outcomes */
            outcomes: string[];
            /**
             * Stage
             * @description Index into `stages`.
             */
            stage: number[];
            /** Part */
            part: number[];
            /** Token */
            token: number[];
            /**
             * Attempt
             * @description Its number among the runs of the task that count as attempts.
             */
            attempt: number[];
            /**
             * Worker
             * @description Index into `workers`.
             */
            worker: number[];
            /** Start */
            start: number[];
            /**
             * End
             * @description Null while it runs.
             */
            end: (number | null)[];
            /**
             * Outcome
             * @description Index into `outcomes`.
             */
            outcome: number[];
            /**
             * After
             * @description The cursor of the next page; null on the last.
             */
            after: string | null;
        };
        /**
         * ScheduleChange
         * @description What is left out stays; null removes a start or an end.
         * @example {
         *       "timing": "every 15m"
         *     }
         */
        ScheduleChange: {
            /**
             * Pipeline
             * @description The pipeline of its jobs.
             * @default
             */
            pipeline: string;
            /**
             * Timing
             * @description A cron expression, @hourly, @daily, @weekly, @monthly, @yearly, or `every 15m`.
             * @default
             */
            timing: string;
            /** Spec */
            spec?: unknown;
            /**
             * Priority
             * @description 0 to 10, which is most urgent; or low, normal, high, critical.
             * @default 5
             */
            priority: number | string;
            /**
             * Timezone
             * @description An IANA time zone, such as Europe/Berlin.
             * @default UTC
             */
            timezone: string;
            /** @default skip */
            overlap: components["schemas"]["Overlap"];
            /** @default latest */
            catch_up: components["schemas"]["CatchUp"];
            /**
             * Catch Up Window
             * @description Seconds that the catch-up policy `all` looks back.
             * @default 86400
             */
            catch_up_window: number;
            /**
             * Jitter
             * @description Seconds by which a job may be later than its tick.
             * @default 0
             */
            jitter: number;
            /** Starts At */
            starts_at?: string | null;
            /** Ends At */
            ends_at?: string | null;
        };
        /** ScheduleDetailDocument */
        ScheduleDetailDocument: {
            /** Name */
            name: string;
            /** Pipeline */
            pipeline: string;
            /** Spec */
            spec: unknown;
            /** Priority */
            priority: number;
            /** User Id */
            user_id: string;
            /** Timing */
            timing: string;
            /** Timezone */
            timezone: string;
            overlap: components["schemas"]["Overlap"];
            catch_up: components["schemas"]["CatchUp"];
            /** Catch Up Window */
            catch_up_window: number;
            /** Jitter */
            jitter: number;
            /** Paused */
            paused: boolean;
            /** Note */
            note: string;
            /** Starts At */
            starts_at: string | null;
            /** Ends At */
            ends_at: string | null;
            /**
             * Next Tick
             * @description Null if there is none, or if the schedule is paused.
             */
            next_tick: string | null;
            /** Next Run At */
            next_run_at: string | null;
            /** Version */
            version: number;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** @description The newest run. */
            last: components["schemas"]["RunDocument"] | null;
            /**
             * Upcoming
             * @description The next ten ticks.
             */
            upcoming: string[];
            /**
             * Runs
             * @description The last ten runs, newest first.
             */
            runs: components["schemas"]["RunDocument"][];
        };
        /** ScheduleDocument */
        ScheduleDocument: {
            /** Name */
            name: string;
            /** Pipeline */
            pipeline: string;
            /** Spec */
            spec: unknown;
            /** Priority */
            priority: number;
            /** User Id */
            user_id: string;
            /** Timing */
            timing: string;
            /** Timezone */
            timezone: string;
            overlap: components["schemas"]["Overlap"];
            catch_up: components["schemas"]["CatchUp"];
            /** Catch Up Window */
            catch_up_window: number;
            /** Jitter */
            jitter: number;
            /** Paused */
            paused: boolean;
            /** Note */
            note: string;
            /** Starts At */
            starts_at: string | null;
            /** Ends At */
            ends_at: string | null;
            /**
             * Next Tick
             * @description Null if there is none, or if the schedule is paused.
             */
            next_tick: string | null;
            /** Next Run At */
            next_run_at: string | null;
            /** Version */
            version: number;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** @description The newest run. */
            last: components["schemas"]["RunDocument"] | null;
        };
        /**
         * Scope
         * @description What a key permits.
         * @enum {string}
         */
        Scope: "jobs:read" | "jobs:write" | "worker" | "metrics" | "admin";
        /** SecretRotation */
        SecretRotation: {
            /**
             * Overlap
             * @description Seconds for which the old secret signs too.
             * @default 86400
             */
            overlap: number;
        };
        /**
         * Session
         * @description Who is signed in, and what the server accepts.
         * @example {
         *       "name": "ops",
         *       "now": 1767268805000,
         *       "scopes": [
         *         "admin"
         *       ],
         *       "upload_limit": 214748364800,
         *       "upload_quota": 0,
         *       "user_id": "",
         *       "version": "0.1.0"
         *     }
         */
        Session: {
            /** Name */
            name: string;
            /** User Id */
            user_id: string;
            /** Scopes */
            scopes: string[];
            /**
             * Version
             * @description Of the software.
             */
            version: string;
            /**
             * Now
             * @description The time of the server in milliseconds since 1970.
             */
            now: number;
            /**
             * Upload Limit
             * @description Bytes of the largest upload.
             */
            upload_limit: number;
            /**
             * Upload Quota
             * @description Bytes that the uploads of a user may take together.
             */
            upload_quota: number;
        };
        /**
         * SessionDocument
         * @description Who is signed in.
         */
        SessionDocument: {
            /** Name */
            name: string;
            /** User Id */
            user_id: string;
            /** Scopes */
            scopes: string[];
        };
        /** SettingDocument */
        SettingDocument: {
            /** Name */
            name: string;
            /** Variable */
            variable: string;
            /** Value */
            value: string | number;
            /** Default */
            default: string | number;
            /**
             * Source
             * @description default, environment, or command line.
             */
            source: string;
            /** Meaning */
            meaning: string;
        };
        /**
         * Severity
         * @description The severity of a message.
         * @enum {string}
         */
        Severity: "info" | "warning" | "error";
        /**
         * SignIn
         * @example {
         *       "key": "reel_0123456789ab_…"
         *     }
         */
        SignIn: {
            /** Key */
            key: string;
        };
        /**
         * SlotsDocument
         * @description What the workers can run at once.
         */
        SlotsDocument: {
            /** Total */
            total: number;
            /** Busy */
            busy: number;
            /**
             * Workers
             * @description Worker instances by lifecycle.
             */
            workers: {
                [key: string]: number;
            };
        };
        /**
         * StageCellsDocument
         * @description The tasks of one stage. Each column has a value per task, in the order of the parts.
         */
        StageCellsDocument: {
            /** Name */
            name: string;
            /**
             * Parts
             * @description The number of each part; null for 0, 1, 2, ….
             */
            parts: number[] | null;
            /**
             * Status
             * @description Index into `statuses`.
             */
            status: number[];
            /**
             * Version
             * @description Of the task: an event with a lower version is older.
             */
            version: number[];
            /**
             * Worker
             * @description Index into `workers`; -1 for none. The worker that runs it or ran it last.
             */
            worker: number[];
            /** Attempt */
            attempt: number[];
            /**
             * Max Attempts
             * @description One number where all are equal.
             */
            max_attempts: number | number[];
            /**
             * Lost
             * @description Workers that were lost while they ran it.
             */
            lost: number[];
            /** Percent */
            percent: number[];
            /** Ready At */
            ready_at: (number | null)[];
            /** Claimed At */
            claimed_at: (number | null)[];
            /** Started At */
            started_at: (number | null)[];
            /** Finished At */
            finished_at: (number | null)[];
            /**
             * Isolated
             * @description 1 for a task that runs alone on a worker.
             */
            isolated: number[];
        };
        /** StageDocument */
        StageDocument: {
            /** Name */
            name: string;
            phase: components["schemas"]["JobStatus"];
            status: components["schemas"]["TaskStatus"];
            /** Required */
            required: boolean;
            /** Weight */
            weight: number;
            /** Needs */
            needs: string[];
            /** After */
            after: string[];
            /** Each */
            each: string | null;
            /** Waits For */
            waits_for: string[];
            /** Total */
            total: number;
            /** Done */
            done: number;
            /** Skipped */
            skipped: number;
            /** Failed */
            failed: number;
            /** Running */
            running: number;
            /** Running Percent */
            running_percent: number;
            /** Isolated */
            isolated: number;
            /** Opened At */
            opened_at: string | null;
        };
        /**
         * StageSpansDocument
         * @description The tasks of one stage. Each column has a value per span, in the order of the parts.
         */
        StageSpansDocument: {
            /** Name */
            name: string;
            /**
             * First
             * @description The first part of each span.
             */
            first: number[];
            /**
             * Last
             * @description The last part of each span.
             */
            last: number[];
            /**
             * Status
             * @description Index into `statuses`.
             */
            status: number[];
            /**
             * Version
             * @description Of each task: an event with a lower version is older.
             */
            version: number[];
            /** Attempt */
            attempt: number[];
            /** Max Attempts */
            max_attempts: number[];
            /**
             * Lost
             * @description Workers that were lost while they ran it.
             */
            lost: number[];
            /** Percent */
            percent: number[];
            /**
             * Finished
             * @description Tasks that finished in each interval since the job started; empty where none did, and for a job that does not run.
             */
            finished: number[];
        };
        /**
         * StateDocument
         * @description The state of a task under a tag.
         */
        StateDocument: {
            /** Job Id */
            job_id: string;
            /** Task */
            task: number;
            /** Tag */
            tag: string;
            /** Status */
            status: number;
            severity: components["schemas"]["Severity"];
            /** Message */
            message: string;
            /** Payload */
            payload: unknown;
            /** Schema Version */
            schema_version: number;
            /**
             * Timestamp
             * Format: date-time
             */
            timestamp: string;
            /** Version */
            version: number;
            /** Event Id */
            event_id: string;
            /** Generation */
            generation: number;
        };
        /** StateMessage */
        StateMessage: {
            /** Job Id */
            job_id: string;
            /** Task */
            task: number;
            /** Tag */
            tag: string;
            /** Status */
            status: number;
            severity: components["schemas"]["Severity"];
            /** Message */
            message: string;
            /** Payload */
            payload: unknown;
            /** Schema Version */
            schema_version: number;
            /**
             * Timestamp
             * Format: date-time
             */
            timestamp: string;
            /** Version */
            version: number;
            /** Event Id */
            event_id: string;
            /** Generation */
            generation: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "state";
            /** Cursor */
            cursor: string;
        };
        /** StatesDocument */
        StatesDocument: {
            /** @description The lowest state; null when no task has reported one. */
            lowest: components["schemas"]["StateDocument"] | null;
            /** Stages */
            stages: components["schemas"]["GridDocument"][];
        };
        /**
         * Step
         * @description A command that a run has started, and its outcome.
         */
        Step: {
            /** Number */
            number: number;
            /** Argv */
            argv: string[];
            /** Exit Code */
            exit_code?: number | null;
            /**
             * Seconds
             * @default 0
             */
            seconds: number;
            /**
             * Output
             * @default
             */
            output: string;
            /**
             * Type
             * @default
             */
            type: string;
            /** Started */
            started?: number | null;
        };
        /**
         * StepDocument
         * @description A command that an attempt has run.
         */
        StepDocument: {
            /** Job Id */
            job_id: number;
            /** Id */
            id: number;
            /** Stage */
            stage: string;
            /** Part */
            part: number;
            /** Token */
            token: number;
            /** Number */
            number: number;
            /**
             * At
             * Format: date-time
             * @description When the store received it.
             */
            at: string;
            /**
             * Type
             * @description The kind of step, such as ffmpeg.
             */
            type: string;
            /**
             * Started At
             * Format: date-time
             * @description By the worker's clock.
             */
            started_at: string;
            /** Argv */
            argv: string[];
            /** Exit Code */
            exit_code: number | null;
            /** Seconds */
            seconds: number;
            /** Output */
            output: string;
        };
        /** StoredFile */
        StoredFile: {
            /** Key */
            key: string;
            /** Size */
            size: number;
            /** Sha256 */
            sha256: string;
        };
        /**
         * SubmittedDocument
         * @example {
         *       "id": 244813922304,
         *       "verdict": "ok"
         *     }
         */
        SubmittedDocument: {
            /** Id */
            id: number;
            /** @description `ok`, or `repeated` when an earlier request created the job. */
            verdict: components["schemas"]["Verdict"];
            /** Resource Id */
            resource_id: number | null;
        };
        /**
         * SuggestionDocument
         * @description How the last term of a search may go on.
         * @example {
         *       "example": "status:failed,quarantined",
         *       "shown": "status:",
         *       "text": "user:ada status:"
         *     }
         */
        SuggestionDocument: {
            /**
             * Text
             * @description The whole search with it.
             */
            text: string;
            /**
             * Shown
             * @description Its last term: a field that a value must follow, or a field with a value.
             */
            shown: string;
            /**
             * Example
             * @description A whole term of this field.
             */
            example: string;
        };
        /** TaskDocument */
        TaskDocument: {
            /**
             * Id
             * @description JOB/STAGE/PART
             */
            id: string;
            claim_state: components["schemas"]["ClaimState"];
            /** Job Id */
            job_id: number;
            /** Stage */
            stage: string;
            /** Part */
            part: number;
            /** Stage Name */
            stage_name: string;
            status: components["schemas"]["TaskStatus"];
            /** Priority */
            priority: number;
            /** Run After */
            run_after: string | null;
            /** Ready At */
            ready_at: string | null;
            /** Claimed At */
            claimed_at: string | null;
            /** Started At */
            started_at: string | null;
            /** Progress At */
            progress_at: string | null;
            /** Finished At */
            finished_at: string | null;
            /** Worker Id */
            worker_id: number | null;
            /** Lease Expires At */
            lease_expires_at: string | null;
            /** Token */
            token: number;
            /** Attempt */
            attempt: number;
            /** Max Attempts */
            max_attempts: number;
            /** Lost */
            lost: number;
            /** Isolated */
            isolated: boolean;
            /** Last Worker */
            last_worker: number | null;
            /** Step */
            step: string | null;
            /** Message */
            message: string | null;
            /** Percent */
            percent: number;
            /** Error */
            error: unknown;
            /** Version */
            version: number;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /**
             * Lease Expired
             * @description Whether the lease has expired by the store's clock; not reclaimed yet.
             */
            lease_expired: boolean;
            /**
             * Worker
             * @description The name of the worker that runs it, or ran it last.
             */
            worker: string | null;
        };
        /**
         * TaskGridDocument
         * @description Every task of a job. Times are in milliseconds since 1970, null where there is none.
         * @example {
         *       "job": 244813922304,
         *       "now": 1767268805000,
         *       "stages": [],
         *       "statuses": [
         *         "new",
         *         "ready",
         *         "running",
         *         "done",
         *         "error",
         *         "skipped",
         *         "cancelled"
         *       ],
         *       "truncated": false,
         *       "version": 3,
         *       "workers": [
         *         "encoder-1"
         *       ]
         *     }
         */
        TaskGridDocument: {
            /** Job */
            job: number;
            /**
             * Version
             * @description Of the job.
             */
            version: number;
            /**
             * Now
             * @description The time of the store.
             */
            now: number;
            /** Statuses */
            statuses: string[];
            /** Workers */
            workers: string[];
            /**
             * Truncated
             * @description Whether the job has more tasks than a grid shows; ask for one stage.
             */
            truncated: boolean;
            /** Stages */
            stages: components["schemas"]["StageCellsDocument"][];
        };
        /**
         * TaskState
         * @description A state that a run reports under a tag.
         */
        TaskState: {
            /** Number */
            number: number;
            /** Tag */
            tag: string;
            /** Status */
            status?: number | null;
            /**
             * Message
             * @default
             */
            message: string;
            /**
             * Severity
             * @default info
             */
            severity: string;
            /** Payload */
            payload?: unknown;
        };
        /**
         * TaskStatus
         * @description The status of a task.
         * @enum {string}
         */
        TaskStatus: "new" | "ready" | "running" | "done" | "error" | "skipped" | "cancelled";
        /** TicksDocument */
        TicksDocument: {
            /**
             * Ticks
             * @description The next ten ticks.
             */
            ticks: string[];
        };
        /**
         * TimingRequest
         * @example {
         *       "timezone": "Europe/Berlin",
         *       "timing": "30 2 * * *"
         *     }
         */
        TimingRequest: {
            /**
             * Timing
             * @description A cron expression, @hourly, @daily, @weekly, @monthly, @yearly, or `every 15m`.
             */
            timing: string;
            /**
             * Timezone
             * @description An IANA time zone, such as Europe/Berlin.
             * @default UTC
             */
            timezone: string;
            /**
             * Starts At
             * @description No tick is before it.
             */
            starts_at?: string | null;
            /**
             * Ends At
             * @description No tick is after it.
             */
            ends_at?: string | null;
        };
        /** TransitionDocument */
        TransitionDocument: {
            /** From */
            from: string;
            /** To */
            to: string;
            /** Actors */
            actors: string[];
        };
        /** UnpackedAnswer */
        UnpackedAnswer: {
            /** Files */
            files: components["schemas"]["StoredFile"][];
        };
        /**
         * UploadDocument
         * @example {
         *       "complete": false,
         *       "created_at": "2026-01-01T12:00:00Z",
         *       "expires_at": "2026-01-02T12:00:00Z",
         *       "id": "0d0b1b0c6f7c4b0e9d7a5d1b2c3d4e5f",
         *       "length": 1073741824,
         *       "name": "video.mov",
         *       "received": 536870912
         *     }
         */
        UploadDocument: {
            /** Id */
            id: string;
            /** Name */
            name: string;
            /** Length */
            length: number | null;
            /**
             * Received
             * @description Bytes received; the next request starts here.
             */
            received: number;
            /** Complete */
            complete: boolean;
            /**
             * Sha256
             * @description Of the whole file, once it is complete.
             */
            sha256: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Expires At
             * Format: date-time
             * @description When it is deleted, unless more bytes arrive.
             */
            expires_at: string;
        };
        /**
         * Verdict
         * @description The outcome of one item of a batch.
         * @enum {string}
         */
        Verdict: "ok" | "repeated" | "lost" | "cancelled" | "unknown";
        /**
         * VerdictAnswer
         * @description One verdict per item, in the same order.
         */
        VerdictAnswer: {
            /** Verdicts */
            verdicts: components["schemas"]["Verdict"][];
        };
        /**
         * VerdictDocument
         * @example {
         *       "id": 244813922304,
         *       "verdict": "ok"
         *     }
         */
        VerdictDocument: {
            /** Id */
            id: number;
            /**
             * Verdict
             * @description `ok`; `repeated` when nothing changed; `refused` in a bulk operation.
             */
            verdict: string;
            /** Error */
            error?: string | null;
            /** Hint */
            hint?: string | null;
        };
        /**
         * VersionDocument
         * @description A version of a video: the fields of its job, and whether it plays.
         */
        VersionDocument: {
            /** Job */
            job: number;
            /**
             * Current
             * @description Whether it plays.
             */
            current: boolean;
            /**
             * Removed At
             * @description When it stopped being playable.
             */
            removed_at: string | null;
            /** Outputs */
            outputs: {
                [key: string]: unknown;
            };
            /**
             * Plays
             * @description The path of its playlist, for clients with a key or a session.
             */
            plays: string | null;
            /** Id */
            id: number;
            /** Pipeline */
            pipeline: string;
            /** Digest */
            digest: string;
            /** User Id */
            user_id: string;
            status: components["schemas"]["JobStatus"];
            phase: components["schemas"]["JobStatus"];
            /** Priority */
            priority: number;
            /** Spec */
            spec: unknown;
            /** Run After */
            run_after: string | null;
            /** Error */
            error: unknown;
            /** Degraded */
            degraded: unknown;
            /** Inconsistent */
            inconsistent: string | null;
            /** Flagged */
            flagged: string | null;
            /** Flagged At */
            flagged_at: string | null;
            /** Version */
            version: number;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /** Started At */
            started_at: string | null;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Finished At */
            finished_at: string | null;
            /** Resource Id */
            resource_id: number | null;
            /** Group */
            group: string | null;
            /** Archived */
            archived: boolean;
        };
        /**
         * VideoDetailDocument
         * @description A video with the qualities of its version in progress or its current one, and its versions, the newest first.
         * @example {
         *       "actor": "user",
         *       "changed_at": "2026-01-01T12:00:00Z",
         *       "created_at": "2026-01-01T12:00:00Z",
         *       "current": 244813922305,
         *       "duration": 93.4,
         *       "id": 244813922304,
         *       "latest": 244813922305,
         *       "plays": "/api/v1/videos/244813922304/files/videos/244813922304/master.m3u8",
         *       "poster": "videos/244813922304/244813922305/poster.jpg",
         *       "progress": 100,
         *       "published": 244813922305,
         *       "qualities": [
         *         {
         *           "completed_at": "2026-01-01T12:01:02Z",
         *           "progress_percent": 100,
         *           "quality": "1080p",
         *           "required": true,
         *           "segments_completed": 20,
         *           "segments_total": 20,
         *           "started_at": "2026-01-01T12:00:02Z",
         *           "status": "completed"
         *         }
         *       ],
         *       "rungs": [
         *         "1080p",
         *         "720p"
         *       ],
         *       "source": "https://example.com/movie.mov",
         *       "status": "ready",
         *       "title": "Holiday",
         *       "user_id": "ada",
         *       "version": 1,
         *       "versions": [],
         *       "viewable": true
         *     }
         */
        VideoDetailDocument: {
            /** Id */
            id: number;
            /** Title */
            title: string;
            /**
             * Source
             * @description Its source, without credentials.
             */
            source: string;
            /** User Id */
            user_id: string;
            status: components["schemas"]["VideoStatus"];
            /**
             * Pinned
             * @description The version that an operator pinned.
             */
            pinned: number | null;
            /**
             * Current
             * @description The version that plays: a job.
             */
            current: number | null;
            /**
             * Published
             * @description The version at its public address.
             */
            published: number | null;
            /**
             * Latest
             * @description The version that was submitted last.
             */
            latest: number | null;
            /**
             * Version
             * @description +1 with every change of the video; its ETag.
             */
            version: number;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Deleted At */
            deleted_at: string | null;
            /**
             * Error
             * @description Why the latest version failed; null unless it did.
             */
            error: unknown;
            /**
             * Duration
             * @description Seconds of the version that plays.
             */
            duration: number | null;
            /**
             * Poster
             * @description The file of its picture; null where it has none.
             */
            poster: string | null;
            /**
             * Rungs
             * @description The names of its qualities.
             */
            rungs: string[];
            /**
             * Plays
             * @description The path of the playlist of the current version, or of the one in progress.
             */
            plays: string | null;
            /**
             * Viewable
             * @description Whether the playlist can be read; in progress, from the first segments on.
             */
            viewable: boolean;
            /**
             * Progress
             * @description Progress in percent of the version that `qualities` shows.
             */
            progress: number | null;
            /** Qualities */
            qualities: components["schemas"]["QualityDocument"][];
            /** Versions */
            versions: components["schemas"]["VersionDocument"][];
        };
        /**
         * VideoDocument
         * @example {
         *       "actor": "user",
         *       "changed_at": "2026-01-01T12:00:00Z",
         *       "created_at": "2026-01-01T12:00:00Z",
         *       "current": 244813922305,
         *       "duration": 93.4,
         *       "id": 244813922304,
         *       "latest": 244813922305,
         *       "poster": "videos/244813922304/244813922305/poster.jpg",
         *       "published": 244813922305,
         *       "rungs": [
         *         "1080p",
         *         "720p"
         *       ],
         *       "source": "https://example.com/movie.mov",
         *       "status": "ready",
         *       "title": "Holiday",
         *       "user_id": "ada",
         *       "version": 1
         *     }
         */
        VideoDocument: {
            /** Id */
            id: number;
            /** Title */
            title: string;
            /**
             * Source
             * @description Its source, without credentials.
             */
            source: string;
            /** User Id */
            user_id: string;
            status: components["schemas"]["VideoStatus"];
            /**
             * Pinned
             * @description The version that an operator pinned.
             */
            pinned: number | null;
            /**
             * Current
             * @description The version that plays: a job.
             */
            current: number | null;
            /**
             * Published
             * @description The version at its public address.
             */
            published: number | null;
            /**
             * Latest
             * @description The version that was submitted last.
             */
            latest: number | null;
            /**
             * Version
             * @description +1 with every change of the video; its ETag.
             */
            version: number;
            /** Actor */
            actor: string;
            /** Reason */
            reason: string | null;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /** Deleted At */
            deleted_at: string | null;
            /**
             * Error
             * @description Why the latest version failed; null unless it did.
             */
            error: unknown;
            /**
             * Duration
             * @description Seconds of the version that plays.
             */
            duration: number | null;
            /**
             * Poster
             * @description The file of its picture; null where it has none.
             */
            poster: string | null;
            /**
             * Rungs
             * @description The names of its qualities.
             */
            rungs: string[];
        };
        /**
         * VideoStatus
         * @description The status of a video, derived from its versions.
         * @enum {string}
         */
        VideoStatus: "pending" | "processing" | "ready" | "failed";
        /**
         * WaitingDocument
         * @description The waiting and running tasks of one pipeline.
         */
        WaitingDocument: {
            /** Pipeline */
            pipeline: string;
            /** Ready */
            ready: number;
            /** Running */
            running: number;
            /**
             * Waiting
             * @description Tasks that are not due yet: delayed first runs and retries.
             */
            waiting: number;
            /**
             * Oldest
             * @description When the oldest ready task became ready.
             */
            oldest: string | null;
        };
        /**
         * Wakeup
         * @description What a listener should look for in the store.
         * @enum {string}
         */
        Wakeup: "work" | "stop" | "inactive" | "state";
        /** WakeupsAnswer */
        WakeupsAnswer: {
            /** Wakeups */
            wakeups: components["schemas"]["Wakeup"][];
        };
        /**
         * WebhookChange
         * @description What is left out stays.
         * @example {
         *       "enabled": true
         *     }
         */
        WebhookChange: {
            /** Url */
            url?: string | null;
            /** Events */
            events?: string[] | null;
            /** Description */
            description?: string | null;
            /**
             * Enabled
             * @description True also forgets why it was disabled.
             */
            enabled?: boolean | null;
        };
        /** WebhookDocument */
        WebhookDocument: {
            /** Id */
            id: string;
            kind: components["schemas"]["WebhookKind"];
            /**
             * User Id
             * @description Whose jobs; empty for those of all users.
             */
            user_id: string;
            /**
             * Url
             * @description Without its query; empty for the callbacks of a user.
             */
            url: string;
            /**
             * Events
             * @description Types of events; empty for all.
             */
            events: string[];
            /** Description */
            description: string;
            /** Enabled */
            enabled: boolean;
            /**
             * Disabled
             * @description Why it was disabled automatically.
             */
            disabled: string | null;
            /** Failing Since */
            failing_since: string | null;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
        };
        /**
         * WebhookKind
         * @description What the deliveries of a webhook are: events of a subscription, callbacks of jobs, or alerts.
         * @enum {string}
         */
        WebhookKind: "webhook" | "callback" | "alert";
        /** WebhookSecretDocument */
        WebhookSecretDocument: {
            /** Id */
            id: string;
            kind: components["schemas"]["WebhookKind"];
            /**
             * User Id
             * @description Whose jobs; empty for those of all users.
             */
            user_id: string;
            /**
             * Url
             * @description Without its query; empty for the callbacks of a user.
             */
            url: string;
            /**
             * Events
             * @description Types of events; empty for all.
             */
            events: string[];
            /** Description */
            description: string;
            /** Enabled */
            enabled: boolean;
            /**
             * Disabled
             * @description Why it was disabled automatically.
             */
            disabled: string | null;
            /** Failing Since */
            failing_since: string | null;
            /** Actor */
            actor: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Changed At
             * Format: date-time
             */
            changed_at: string;
            /**
             * Secret
             * @description `whsec_…`, with which deliveries are signed. It is not shown again.
             */
            secret: string;
        };
        /** WireClaimRequest */
        WireClaimRequest: {
            /** Worker Id */
            worker_id: number;
            /**
             * Limit
             * @default 1
             */
            limit: number;
            /** Pipelines */
            pipelines?: string[] | null;
            /**
             * Hints
             * @default []
             */
            hints: [
                number,
                number,
                number
            ][];
            /**
             * Gpu Grace
             * @default 60
             */
            gpu_grace: number;
            /**
             * Wait
             * @default 0
             */
            wait: number;
            /** Known */
            known?: [
                number,
                number,
                number,
                number
            ][] | null;
        };
        /** WorkerDocument */
        WorkerDocument: {
            /** Lifecycle */
            lifecycle: string;
            /** Id */
            id: number;
            /** Name */
            name: string;
            /** Hostname */
            hostname: string;
            /** Software */
            software: string;
            /** Kind */
            kind: string;
            /** Slots */
            slots: number;
            /** Capabilities */
            capabilities: string[];
            /** Pipelines */
            pipelines: string[];
            /** Metadata */
            metadata: unknown;
            /**
             * Status
             * @description idle, busy, draining, offline or disabled.
             */
            status: string;
            /** Enabled */
            enabled: boolean;
            /** Running */
            running: number;
            /**
             * Stuck
             * @description Handlers that did not stop when asked; each holds a slot until it ends.
             */
            stuck: number;
            /** Version */
            version: number;
            /**
             * Registered At
             * Format: date-time
             */
            registered_at: string;
            /** Last Heartbeat At */
            last_heartbeat_at: string | null;
            /**
             * Done
             * @description Attempts that it has completed.
             */
            done: number;
            /**
             * Failed
             * @description Attempts that it has reported as failed.
             */
            failed: number;
            /**
             * Tasks
             * @description Its running tasks, as JOB/STAGE/PART.
             */
            tasks: string[];
        };
        /** Workers */
        Workers: {
            /**
             * Idle
             * @default 0
             */
            idle: number;
            /**
             * Busy
             * @default 0
             */
            busy: number;
            /**
             * Draining
             * @default 0
             */
            draining: number;
            /**
             * Offline
             * @default 0
             */
            offline: number;
            /**
             * Disabled
             * @default 0
             */
            disabled: number;
        };
        /**
         * PinRequest
         * @description The version that new jobs run.
         * @example {
         *       "digest": "3f9a1c"
         *     }
         */
        reelstate__api__pipelines__PinRequest: {
            /**
             * Digest
             * @description The beginning of its digest; left out: the newest.
             */
            digest?: string | null;
        };
        /**
         * PinRequest
         * @example {
         *       "job": 244813922305,
         *       "reason": "green faces"
         *     }
         */
        reelstate__api__video_documents__PinRequest: {
            /**
             * Reason
             * @description The reason; stored with the video.
             */
            reason?: string | null;
            /**
             * Job
             * @description The version to play: a completed job.
             */
            job: number;
        };
        /**
         * Problem
         * @description An error: what is wrong and what to do.
         * @example {
         *       "detail": "there is no job 7",
         *       "hint": "check the id",
         *       "status": 404,
         *       "title": "Not Found",
         *       "type": "urn:reelstate:error:not-found"
         *     }
         */
        Problem: {
            /**
             * Type
             * @description Which error: `urn:reelstate:error:` and its name.
             */
            type: string;
            /**
             * Title
             * @description The status in words.
             */
            title: string;
            /** Status */
            status: number;
            /**
             * Detail
             * @description What was wrong.
             */
            detail: string;
            /**
             * Hint
             * @description What to do.
             * @default null
             */
            hint: string | null;
            /**
             * Field
             * @description Where: the path to a field, or a parameter.
             * @default null
             */
            field: string | null;
            /**
             * Entity
             * @description What does not exist or can't change: job, video, worker, ….
             * @default null
             */
            entity: string | null;
            /**
             * Origin
             * @description The status from which a change is not allowed.
             * @default null
             */
            origin: string | null;
            /**
             * Used
             * @description What is used of a quota: bytes, or uploads.
             * @default null
             */
            used: number | null;
            /**
             * Limit
             * @description The limit that a value or a quota is held to.
             * @default null
             */
            limit: number | null;
            /**
             * Position
             * @description Where in a search the mistake is, counted from 0.
             * @default null
             */
            position: number | null;
            /**
             * Oldest
             * @description The oldest cursor that can be continued from.
             * @default null
             */
            oldest: string | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    home_home: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Home"];
                };
            };
            /** @description For browsers: the dashboard */
            307: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health_livez: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alive"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health_readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description A check failed */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
        };
    };
    health_health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    health_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in_session: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in_sign_in_with_code: {
        parameters: {
            query: {
                code: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in_sign_in: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sign_in_sign_out: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_bulk: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BulkRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BulkDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_retry: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetryRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_reprioritise: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PriorityRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_quarantine: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReasonedRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    operations_force: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForceRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_jobs: {
        parameters: {
            query?: {
                /** @description Only these; `running` is every phase. */
                status?: (components["schemas"]["JobStatus"] | "running")[] | null;
                /** @description Only jobs of this pipeline. */
                pipeline?: string | null;
                /** @description Only this user's; for admins. */
                user_id?: string | null;
                /** @description Only jobs that are flagged for an operator. */
                flagged?: boolean;
                /** @description A search: `status:failed created:<7d error~"out of memory"`. */
                q?: string | null;
                /** @description Jobs in the archive, which can only be read. */
                archived?: boolean;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_JobDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_submit: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key returns the first answer. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJob"];
            };
        };
        responses: {
            /** @description It was made before, under the same key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedDocument"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_submit_many: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key returns the first answer. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewJobs"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answers"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_suggestions: {
        parameters: {
            query?: {
                /** @description The beginning of a search: `user:ada st`. */
                q?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SuggestionDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_job: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobDetailDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_why: {
        parameters: {
            query?: {
                /** @description Only this stage, by name. */
                stage?: string | null;
                /** @description Only this part of the stage. */
                part?: number | null;
            };
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplanationDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_qualities: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QualityDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_stages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StageDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_tasks: {
        parameters: {
            query?: {
                /** @description Only this stage, by name. */
                stage?: string | null;
                /** @description Only these. */
                status?: components["schemas"]["TaskStatus"][] | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_TaskDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_logs: {
        parameters: {
            query?: {
                /** @description Leave out lines before which another can still appear, so that a follower misses none. */
                settled?: boolean;
                /** @description Only this stage, by name. */
                stage?: string | null;
                /** @description Only this part of the stage. */
                part?: number | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_LogDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_steps: {
        parameters: {
            query?: {
                /** @description Only this stage, by name. */
                stage?: string | null;
                /** @description Only this part of the stage. */
                part?: number | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_StepDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_spans: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobSpansDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_grid: {
        parameters: {
            query?: {
                /** @description Only this stage, by name. */
                stage?: string | null;
                /** @description The first part; needs a stage. */
                first?: number | null;
                /** @description The last part; by default the first. */
                last?: number | null;
            };
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskGridDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    jobs_attempts: {
        parameters: {
            query?: {
                /** @description Only this stage, by name. */
                stage?: string | null;
                /** @description Maximum number of runs. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunsDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_events: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description Only events of this job. */
                job?: number | null;
                /** @description Only jobs of this pipeline. */
                pipeline?: string | null;
                /** @description Only this user's jobs; for admins. */
                user_id?: string | null;
                /** @description Only some of job, stage, task, worker, finding, state. */
                only?: string[] | null;
                /** @description Only changes to these. */
                status?: string[] | null;
                /** @description In a stream, also progress of running tasks; the default for one job. */
                progress?: boolean | null;
                /** @description In a stream: send a bookmark whenever the client has every event so far. */
                bookmarks?: boolean;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: {
                /** @description Like `after`, which it overrides; browsers send it. */
                "last-event-id"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events; for `Accept: text/event-stream`, a live stream. Its events are named event, state, progress, replay_complete, bookmark, stale, fresh, reset and overflow; the id of each is a cursor. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsDocument"];
                    /**
                     * @example retry: 2000
                     *
                     *     id: 5f0c2a91d7e3.0.41
                     *     event: event
                     *     data: {"kind":"event","entity":"job","id":244813922304,"version":2,"from":"pending","to":"processing", …}
                     *
                     *     event: progress
                     *     data: {"kind":"progress","id":"244813922304/encode/3","percent":40.0, …}
                     *
                     *     id: 5f0c2a91d7e3.0.44
                     *     event: replay_complete
                     *     data: {"cursor":"5f0c2a91d7e3.0.44"}
                     */
                    "text/event-stream": string;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Gone */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    events_job_events: {
        parameters: {
            query?: {
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
                /** @description In a stream: only some of job, stage, task, state. */
                only?: string[] | null;
                /** @description In a stream: only changes to these. */
                status?: string[] | null;
                /** @description In a stream: also progress of running tasks. */
                progress?: boolean;
                /** @description In a stream: continue when the job has become inactive. */
                follow?: boolean;
            };
            header?: {
                /** @description Like `after`, which it overrides; browsers send it. */
                "last-event-id"?: string | null;
            };
            path: {
                /** @description The job's id. */
                job_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of events; for `Accept: text/event-stream`, a live stream. Its events are named event, state, progress, replay_complete, bookmark, stale, fresh, reset and overflow; the id of each is a cursor. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_EventDocument_"];
                    /**
                     * @example retry: 2000
                     *
                     *     id: 5f0c2a91d7e3.0.41
                     *     event: event
                     *     data: {"kind":"event","entity":"job","id":244813922304,"version":2,"from":"pending","to":"processing", …}
                     *
                     *     event: progress
                     *     data: {"kind":"progress","id":"244813922304/encode/3","percent":40.0, …}
                     *
                     *     id: 5f0c2a91d7e3.0.44
                     *     event: replay_complete
                     *     data: {"cursor":"5f0c2a91d7e3.0.44"}
                     */
                    "text/event-stream": string;
                };
            };
            /** @description The job is inactive and the client has every event: nothing more will come */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    states_states: {
        parameters: {
            query?: {
                /** @description Only this stage of the job. */
                stage?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of a job; for admins also JOB.STAGE, or any id of the state manager. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StatesDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    states_lowest: {
        parameters: {
            query?: {
                /** @description Only this stage of the job. */
                stage?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of a job; for admins also JOB.STAGE, or any id of the state manager. */
                job_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workers_workers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workers_names: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": string[];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workers_drain: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a worker; it may have several instances. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWorker"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workers_enable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a worker; it may have several instances. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedWorker"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workers_disable: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a worker; it may have several instances. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DisabledWorker"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    workers_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a worker; it may have several instances. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevokedWorker"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    keys_keys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeyDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    keys_create: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    keys_rotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's public id: the part after `reel_`. */
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Rotation"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    keys_revoke: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's public id: the part after `reel_`. */
                key_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevokedKey"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    archive_months: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MonthDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    archive_archive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ArchiveRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchivedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    archive_rows: {
        parameters: {
            query?: {
                /** @description jobs, tasks, stages, events, logs, steps, states, … */
                table?: string;
            };
            header?: never;
            path: {
                /** @description A month, such as 2026-11. */
                month: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The rows, one JSON object a line */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    limits_limits: {
        parameters: {
            query?: {
                /** @description Include limits that were removed. */
                removed?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    limits_limit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The limit's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitStatusDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    limits_set_limit: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The limit's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LimitRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    limits_remove_limit: {
        parameters: {
            query?: {
                /** @description Why; the record keeps it. */
                reason?: string | null;
            };
            header?: never;
            path: {
                /** @description The limit's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pauses_pauses: {
        parameters: {
            query?: {
                /** @description Include pauses that have been lifted. */
                lifted?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PauseDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pauses_pause: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PauseRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PausedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pauses_resume: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PauseTarget"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PauseDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_webhooks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_add: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewWebhook"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecretDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_webhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_remove: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_update: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_rotate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SecretRotation"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookSecretDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_deliveries: {
        parameters: {
            query?: {
                /** @description Only these. */
                status?: components["schemas"]["DeliveryStatus"] | null;
                /** @description Only events of this job. */
                job_id?: number | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path: {
                /** @description The webhook's id. */
                webhook_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_DeliveryDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    webhooks_redeliver: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The webhook's id. */
                webhook_id: string;
                /** @description The delivery's id. */
                delivery_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_schedules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_create: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewSchedule"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_preview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TimingRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TicksDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_schedule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDetailDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_update: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleChange"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_pause: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Pause"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_resume: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_trigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    schedules_backfill: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The schedule's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBackfill"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    groups_groups: {
        parameters: {
            query?: {
                /** @description Of this user; for admins. */
                user_id?: string | null;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_GroupDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    groups_group: {
        parameters: {
            query?: {
                /** @description Of this user; for admins. */
                user_id?: string | null;
            };
            header?: never;
            path: {
                /** @description The group's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    groups_cancel: {
        parameters: {
            query?: {
                /** @description Of this user; for admins. */
                user_id?: string | null;
            };
            header?: never;
            path: {
                /** @description The group's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupChangeDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    groups_retry: {
        parameters: {
            query?: {
                /** @description Of this user; for admins. */
                user_id?: string | null;
            };
            header?: never;
            path: {
                /** @description The group's name. */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OperationRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GroupChangeDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    machines_machines: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MachineDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    machines_machine: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                entity: components["schemas"]["MachineName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MachineDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    machines_as_mermaid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                entity: components["schemas"]["MachineName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    machines_as_svg: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                entity: components["schemas"]["MachineName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/svg+xml": string;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deployment_queue: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deployment_settings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettingDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deployment_read_overview: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pipelines_pipelines: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PipelineDocument"][];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pipelines_use: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of the pipeline. */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["reelstate__api__pipelines__PinRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PipelineDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_register: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisterAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_claim: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WireClaimRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_heartbeat: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_progress: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_complete: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompleteRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No item was accepted. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictAnswer"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_fail: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FailRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No item was accepted. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictAnswer"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_release: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReleaseRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description No item was accepted. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerdictAnswer"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_results: {
        parameters: {
            query: {
                stage: string;
                limit?: number;
                after?: string | null;
            };
            header?: {
                /** @description The permit of the task. */
                "reel-permit"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultsAnswer"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_wakeups: {
        parameters: {
            query: {
                worker_id: number;
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WakeupsAnswer"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_leave: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LeaveRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaveAnswer"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_list_files: {
        parameters: {
            query: {
                prefix: string;
            };
            header?: {
                /** @description The permit of the task. */
                "reel-permit"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListedFiles"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_read: {
        parameters: {
            query?: never;
            header?: {
                Range?: string | null;
                /** @description The permit of the task. */
                "reel-permit"?: string;
            };
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The whole file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description A redirect to the bucket, valid for an hour */
            307: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The range starts after the end of the file */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_write: {
        parameters: {
            query?: never;
            header: {
                /** @description `sha-256=:…:` of the body (RFC 9530). */
                "content-digest": string;
                /** @description The permit of the task. */
                "reel-permit"?: string;
            };
            path: {
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredFile"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_source: {
        parameters: {
            query?: never;
            header?: {
                Range?: string | null;
                /** @description The permit of the task. */
                "reel-permit"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The whole file */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/octet-stream": unknown;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The range starts after the end of the file */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    worker_archive: {
        parameters: {
            query?: never;
            header?: {
                /** @description The permit of the task. */
                "reel-permit"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UnpackedAnswer"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploads_create: {
        parameters: {
            query?: never;
            header: {
                /** @description Size of the whole file in bytes. */
                "upload-length": number;
                /** @description `filename` and its value in base64. */
                "upload-metadata"?: string | null;
                /** @description `sha-256=:…:` of the whole file (RFC 9530), checked when it is complete. */
                "repr-digest"?: string | null;
                /** @description `sha-256=:…:` of the body (RFC 9530); a body that does not match is refused. */
                "content-digest"?: string | null;
                /** @description 1.0.0; may be omitted. */
                "tus-resumable"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploads_discover: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1.0.0; may be omitted. */
                "tus-resumable"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploads_show: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1.0.0; may be omitted. */
                "tus-resumable"?: string | null;
            };
            path: {
                /** @description The upload's id. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploads_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description 1.0.0; may be omitted. */
                "tus-resumable"?: string | null;
            };
            path: {
                /** @description The upload's id. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    uploads_append: {
        parameters: {
            query?: never;
            header: {
                /** @description The current offset of the upload. */
                "upload-offset": number;
                /** @description `sha-256=:…:` of the body (RFC 9530); a body that does not match is refused. */
                "content-digest"?: string | null;
                /** @description 1.0.0; may be omitted. */
                "tus-resumable"?: string | null;
            };
            path: {
                /** @description The upload's id. */
                upload_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/offset+octet-stream": string;
            };
        };
        responses: {
            /** @description The bytes were received: Upload-Offset is the new offset */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unsupported Media Type */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    playback_open_playback: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PlaybackRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlaybackDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    playback_file: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The video's id. */
                video_id: number;
                /** @description Below the storage: `videos/…` or `versions/…`. */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file: a playlist, a manifest, a segment, captions, a picture */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apple.mpegurl": string;
                    "application/dash+xml": string;
                    "video/mp4": string;
                    "text/vtt": string;
                    "image/jpeg": string;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The file has not changed */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The range is beyond the end of the file */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    playback_play: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description From `POST /api/v1/videos/{id}/playback`. */
                ticket: string;
                /** @description Below the storage: `videos/…` or `versions/…`. */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file: a playlist, a manifest, a segment, captions, a picture */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apple.mpegurl": string;
                    "application/dash+xml": string;
                    "video/mp4": string;
                    "text/vtt": string;
                    "image/jpeg": string;
                };
            };
            /** @description The requested range */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The file has not changed */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The range is beyond the end of the file */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    playback_preflight: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description From `POST /api/v1/videos/{id}/playback`. */
                ticket: string;
                /** @description Below the storage: `videos/…` or `versions/…`. */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_videos: {
        parameters: {
            query?: {
                /** @description Only these. */
                status?: components["schemas"]["VideoStatus"][] | null;
                /** @description Only this user's; for admins. */
                user_id?: string | null;
                /** @description Include deleted videos. */
                deleted?: boolean;
                /** @description Maximum number of items. */
                limit?: number;
                /** @description The `after` of the page before. */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageDocument_VideoDocument_"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key returns the first answer. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewVideoRequest"];
            };
        };
        responses: {
            /** @description It was created before, under the same key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeDocument"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_create_from_body: {
        parameters: {
            query?: {
                title?: string;
                /** @description By name. */
                profile?: string | null;
                priority?: number | ("low" | "normal" | "high" | "critical");
            };
            header?: {
                /** @description `sha-256=:…:` of the body (RFC 9530); a body that does not match is refused. */
                "content-digest"?: string | null;
                /** @description A repeated request with the same key returns the first answer. */
                "idempotency-key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description It was created before, under the same key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeDocument"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Insufficient Storage */
            507: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_video: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VideoDetailDocument"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_delete: {
        parameters: {
            query?: {
                /** @description The reason; stored with the video. */
                reason?: string | null;
            };
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_retranscode: {
        parameters: {
            query?: never;
            header?: {
                /** @description A repeated request with the same key returns the first answer. */
                "idempotency-key"?: string | null;
            };
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetranscodeRequest"] | null;
            };
        };
        responses: {
            /** @description It was created before, under the same key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeDocument"];
                };
            };
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_pin: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["reelstate__api__video_documents__PinRequest"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_unpin: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_rollback: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RollbackRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    videos_restore: {
        parameters: {
            query?: never;
            header?: {
                /** @description The ETag (version) that the job must have, or nothing is changed. */
                "if-match"?: string | null;
            };
            path: {
                /** @description The video's id. */
                video_id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReasonRequest"] | null;
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChangedDocument"];
                };
            };
            /** @description Bad Request */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Request Timeout */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Precondition Failed */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Content Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Unprocessable Content */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too Many Requests */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Service Unavailable */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
