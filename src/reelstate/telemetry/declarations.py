"""Every metric: its name, kind, labels and meaning. The registry and the reference page are made from this table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PREFIX: Final = "reelstate_"


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Origin(StrEnum):
    """Where a metric comes from."""

    FACTS = "process"
    """Counted in this process from facts: sum it over all processes."""
    READING = "process, at the scrape"
    """Read from objects of this process at each scrape: sum it over all processes."""
    CLUSTER = "cluster"
    """Read from the database by every server: take the maximum over all servers, never the sum."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Kind
    meaning: str
    labels: tuple[str, ...] = ()
    origin: Origin = Origin.FACTS
    buckets: tuple[float, ...] = ()
    largest: bool = False
    """Series that are folded into `other` are represented by the largest of them, not by their sum."""


FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds of requests, writes and deliveries."""
SLOW: Final = (0.05, 0.25, 1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 12 * 3600, 24 * 3600)
"""Seconds of waits, runs and jobs: an encode may take hours."""
SPEED: Final = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)
"""Multiples of real time."""


def _counter(name: str, meaning: str, *labels: str, origin: Origin = Origin.FACTS) -> Metric:
    return Metric(name, Kind.COUNTER, meaning, labels, origin)


def _seconds(name: str, meaning: str, *labels: str, buckets: tuple[float, ...] = FAST) -> Metric:
    return Metric(name, Kind.HISTOGRAM, meaning, labels, buckets=buckets)


def _gauge(name: str, meaning: str, *labels: str, origin: Origin = Origin.CLUSTER, largest: bool = False) -> Metric:
    return Metric(name, Kind.GAUGE, meaning, labels, origin, largest=largest)


METRICS: Final = (
    _counter("jobs_created_total", "Jobs that were submitted.", "pipeline"),
    _counter("jobs_completed_total", "Jobs that ended: completed, failed, cancelled or quarantined.", "status"),
    _seconds("job_duration_seconds", "From the submission of a job to its end.", "status", buckets=SLOW),
    _gauge("jobs_in_progress", "Jobs with a task that has been claimed and that have not ended. Counts to 10,000."),
    _gauge("queue_size", "Jobs that wait for their first claim. Counts to 10,000."),
    _gauge("jobs", "Jobs by status, except completed and cancelled ones. Each counts to 10,000.", "status"),
    _gauge("workers_active", "Worker instances that claim tasks."),
    _gauge("workers", "Worker instances by status: active, draining or offline.", "status"),
    _gauge("worker_slots", "Tasks that the active workers can run at once."),
    _gauge(
        "worker_load", "Share of the slots of a worker that are in use: 1 is full.", "worker", origin=Origin.READING
    ),
    _counter("transitions_total", "Transitions of a state machine.", "machine", "from", "to"),
    _seconds("state_seconds", "How long a job, task or worker was in a state that it left.", "machine", "state",
             buckets=SLOW),
    _gauge("tasks_ready", "Tasks that wait for a worker, by lane. Each lane counts to 2,000.", "pipeline", "lane"),
    _gauge("tasks_running", "Tasks that are leased, by lane. Counts to 10,000 in all.", "pipeline", "lane"),
    _gauge("tasks_delayed", "Tasks that wait for their time: retries and delayed jobs. Counts to 10,000."),
    _gauge("oldest_ready_seconds", "How long the task that is ready for longest has waited, among the first 100 of"
           " each priority of a lane.", "pipeline", "lane", largest=True),
    _seconds("task_wait_seconds", "From ready to claimed, for first attempts.", "pipeline", "stage", buckets=SLOW),
    _seconds("task_run_seconds", "Runs of tasks in this process.", "pipeline", "stage", "outcome", buckets=SLOW),
    _counter("task_failures_total", "Attempts that failed: an error of the handler, a timeout or a lost lease."),
    _counter("task_retries_total", "Failed attempts after which the task is tried again."),
    _counter("max_retries_exceeded_total", "Tasks that failed for good because no attempt was left."),
    _counter("lease_expiries_total", "Leases that a keeper took back.", "cause"),
    _counter("stale_jobs_recovered_total", "Tasks of lost workers that became ready again."),
    _counter("quarantines_total", "Jobs that were quarantined."),
    _gauge("keeper_last_sweep_seconds", "Since a keeper last finished a sweep.", largest=True),
    _seconds("keeper_duty_seconds", "Runs of the duties of the keeper.", "duty"),
    _counter("keeper_duty_failures_total", "Runs of duties that failed.", "duty"),
    _seconds("feed_delivery_seconds", "From the commit of an event or state to its subscriber."),
    _gauge("feed_lag_seconds", "Delay of the event or state that was delivered last.", origin=Origin.READING,
           largest=True),
    _seconds("feed_replay_seconds", "Replays to subscribers of what they had missed."),
    _counter("feed_reconnects_total", "Times that a feed reached its store again."),
    _counter("feed_dropped_total", "Messages that waited for a subscriber when it left."),
    _counter("feed_overflows_total", "Subscribers that were disconnected because they read too slowly."),
    _counter("feed_version_drift_total", "Versions that a feed has skipped; anything but 0 is a bug."),
    _seconds("state_write_seconds", "Writes of the state manager."),
    _counter("state_write_errors_total", "Writes of the state manager that failed."),
    _counter("cache_reads_total", "Reads through a cache: `states` or `sources`; `hit` or `miss`.", "cache", "result"),
    _gauge("cache_hit_ratio", "Share of the reads that a cache answered.", "cache", origin=Origin.READING,
           largest=True),
    _gauge("worker_outbox", "Outcomes of runs that wait for the store.", "worker", origin=Origin.READING),
    _gauge("outbox_backlog", "Deliveries of webhooks and alerts that wait to be sent."),
    _gauge("dispatch_breaker_state", "Circuit breaker of Redis: 0 closed, 1 half open, 2 open.",
           origin=Origin.READING, largest=True),
    _counter("dispatch_breaker_opened_total", "Times that Redis became unreachable.", origin=Origin.READING),
    _gauge("database_up", "Whether the gauges of the cluster could be read: 1 or 0."),
    _gauge("database_read_seconds", "How long reading the gauges of the cluster took.", largest=True),
    _gauge("database_pool_size", "Connections to the database.", origin=Origin.READING),
    _gauge("database_pool_waiting", "Calls that wait for a connection.", origin=Origin.READING),
    _counter("database_pool_errors_total", "Calls that got no connection, connections that were lost or refused.",
             origin=Origin.READING),
    _counter("http_requests_total", "Answered requests.", "method", "route", "status"),
    _seconds("http_request_seconds", "Answered requests; a live stream is one long request.", "route"),
    _counter("media_seconds_encoded_total", "Seconds of media that were encoded.", "rung"),
    Metric("encode_speed_ratio", Kind.HISTOGRAM, "Speed of an encode: 1 is real time. All rungs that one command"
           " encodes have its speed.", ("rung",), buckets=SPEED),
    _counter("command_exits_total", "Exits of external commands: `ok`, or the kind of failure.", "program", "cause"),
)  # fmt: skip
BY_NAME: Final = {metric.name: metric for metric in METRICS}
