"""Metrics: a sink that counts facts in a registry of its own, and the text that Prometheus scrapes."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client import ProcessCollector as ProcessFigures
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from reelstate.core.machine import INACTIVE_JOBS, MACHINES, JobStatus, TaskStatus
from reelstate.telemetry import facts
from reelstate.telemetry.declarations import BY_NAME, METRICS, PREFIX, Kind, Metric, Origin

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
MAX_LABEL_VALUES: Final = 100
"""Distinct values of a label of one metric; later ones are counted as `other`."""
OTHER: Final = "other"
NEW: Final = "none"
"""The origin of a row that was just inserted."""


class Sample(NamedTuple):
    """The value of a gauge or counter that is read at a scrape; the labels are in the order of the declaration."""

    name: str
    value: float
    labels: tuple[str, ...] = ()


Reading = Callable[[], Iterable[Sample]]
"""Returns samples of this process. It is called at each scrape, from any thread."""


class Metrics(Collector):
    """The metrics of one process. Call it with a fact; add readings for what is read at a scrape."""

    def __init__(self, prefix: str = PREFIX) -> None:
        self._prefix = prefix
        self._registry = CollectorRegistry(auto_describe=False)
        self._readings: list[Reading] = [self._own_samples]
        self._values: dict[tuple[str, str], set[str]] = {}
        self._cache_reads: Tally[tuple[str, bool]] = Tally()
        self._lag = 0.0
        self._counted: dict[str, Any] = {
            metric.name: self._instrument(metric) for metric in METRICS if metric.origin is Origin.FACTS
        }
        self._start_at_zero()
        self._handlers: dict[type, Callable[[Any], None]] = {
            facts.JobCreated: self._on_created,
            facts.Transition: self._on_transition,
            facts.JobEnded: self._on_ended,
            facts.TaskClaimed: self._on_claimed,
            facts.TasksFailed: self._on_failed,
            facts.LeasesReclaimed: self._on_reclaimed,
            facts.AttemptEnded: self._on_attempt,
            facts.DutyRun: self._on_duty,
            facts.RequestAnswered: self._on_request,
            facts.ToolExited: self._on_exit,
            facts.Encoded: self._on_encoded,
            facts.StateWritten: self._on_state,
            facts.CacheRead: self._on_cache,
            facts.FeedDelivered: self._on_delivered,
            facts.FeedReplayed: self._on_replayed,
            facts.FeedEvent: self._on_feed,
        }
        self._registry.register(self)
        ProcessFigures(registry=self._registry)

    def __call__(self, fact: facts.Fact) -> None:
        """Count a fact, if a metric is counted from it; safe from any thread."""
        handler = self._handlers.get(type(fact))
        if handler is not None:
            handler(fact)

    @property
    def exposed(self) -> CollectorRegistry:
        """The metrics of this process, for an exporter."""
        return _Exposed(self._registry)

    def add_reading(self, reading: Reading) -> None:
        """Add samples that are read at each scrape, such as the length of a queue in this process."""
        self._readings.append(reading)

    def remove_reading(self, reading: Reading) -> None:
        self._readings.remove(reading)

    def render(self, cluster: Iterable[Sample] = ()) -> bytes:
        """Return all metrics in the text format, with samples of the cluster."""
        return generate_latest(_Exposed(self._registry, self._families(cluster, {Origin.CLUSTER})))

    def collect(self) -> Iterator[Family]:
        """Yield what is read at a scrape."""
        samples = [sample for reading in list(self._readings) for sample in reading()]
        yield from self._families(samples, {Origin.READING})

    def _families(self, samples: Iterable[Sample], origins: set[Origin]) -> list[Family]:
        """Return a family for each declared metric of these origins, also for one without samples."""
        folded: dict[str, dict[tuple[str, ...], float]] = {
            metric.name: {} for metric in METRICS if metric.origin in origins
        }
        for name, value, labels in samples:
            metric, series = BY_NAME[name], folded[name]
            key = self._bounded(metric, labels)
            known = series.get(key, 0.0)
            series[key] = max(known, value) if metric.largest else known + value
        return [self._family(BY_NAME[name], series) for name, series in folded.items()]

    def _family(self, metric: Metric, series: dict[tuple[str, ...], float]) -> Family:
        kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
        family = kind(self._prefix + metric.name, metric.meaning, labels=metric.labels)
        for labels, value in series.items():
            family.add_metric(labels, value)
        return family

    def _instrument(self, metric: Metric) -> Any:
        name = self._prefix + metric.name
        if metric.kind is Kind.HISTOGRAM:
            return Histogram(name, metric.meaning, metric.labels, buckets=metric.buckets, registry=self._registry)
        return Counter(name, metric.meaning, metric.labels, registry=self._registry)

    def _start_at_zero(self) -> None:
        """Create the series whose labels are known, so that the first increase is not missed by `rate`."""
        for name, machine in MACHINES.items():
            for state in machine.initial_states:
                self._series("transitions_total", name, NEW, state)
            for change in machine.transitions:
                self._series("transitions_total", name, change.origin, change.target)
        for status in INACTIVE_JOBS:
            self._series("jobs_completed_total", status)

    def _series(self, name: str, *labels: str) -> Any:
        """Return the counter or histogram of a metric with these labels."""
        metric = self._counted[name]
        return metric.labels(*self._bounded(BY_NAME[name], labels)) if labels else metric

    def _bounded(self, metric: Metric, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Replace label values beyond `MAX_LABEL_VALUES` by `other`."""
        return tuple(self._known(metric.name, label, value) for label, value in zip(metric.labels, labels, strict=True))

    def _known(self, name: str, label: str, value: str) -> str:
        known = self._values.setdefault((name, label), set())
        if value not in known:
            if len(known) >= MAX_LABEL_VALUES:
                return OTHER
            known.add(value)
        return value

    def _own_samples(self) -> Iterator[Sample]:
        yield Sample("feed_lag_seconds", self._lag)
        for cache in {cache for cache, _ in self._cache_reads}:
            hits, misses = self._cache_reads[cache, True], self._cache_reads[cache, False]
            yield Sample("cache_hit_ratio", hits / (hits + misses), (cache,))

    def _on_created(self, fact: facts.JobCreated) -> None:
        self._series("jobs_created_total", fact.pipeline).inc()
        self._series("transitions_total", "job", NEW, JobStatus.PENDING).inc()

    def _on_transition(self, fact: facts.Transition) -> None:
        self._series("transitions_total", fact.machine, fact.origin or NEW, fact.target).inc(fact.number)
        if fact.seconds is not None and fact.origin:
            self._series("state_seconds", fact.machine, fact.origin).observe(max(0.0, fact.seconds))
        if (fact.machine, fact.target) == ("job", JobStatus.QUARANTINED):
            self._series("quarantines_total").inc(fact.number)

    def _on_ended(self, fact: facts.JobEnded) -> None:
        self._series("jobs_completed_total", fact.status).inc()
        self._series("job_duration_seconds", fact.status).observe(max(0.0, fact.seconds))

    def _on_claimed(self, fact: facts.TaskClaimed) -> None:
        self._on_transition(facts.Transition("task", TaskStatus.READY, TaskStatus.RUNNING, seconds=fact.waited))
        if fact.waited is not None and fact.attempt == 1:
            self._series("task_wait_seconds", fact.pipeline, fact.stage).observe(max(0.0, fact.waited))

    def _on_failed(self, fact: facts.TasksFailed) -> None:
        self._series("task_failures_total").inc(fact.retried + fact.exhausted + fact.final)
        self._series("task_retries_total").inc(fact.retried)
        self._series("max_retries_exceeded_total").inc(fact.exhausted)

    def _on_reclaimed(self, fact: facts.LeasesReclaimed) -> None:
        self._series("lease_expiries_total", fact.cause).inc(fact.number)
        self._on_transition(facts.Transition("task", TaskStatus.RUNNING, fact.target, fact.number))
        if fact.target in (TaskStatus.READY, TaskStatus.ERROR):
            self._series("task_failures_total").inc(fact.number)
        if fact.target == TaskStatus.READY:
            self._series("stale_jobs_recovered_total").inc(fact.number)
            self._series("task_retries_total").inc(fact.number)
        elif fact.target == TaskStatus.ERROR:
            self._series("max_retries_exceeded_total").inc(fact.number)

    def _on_attempt(self, fact: facts.AttemptEnded) -> None:
        self._series("task_run_seconds", fact.pipeline, fact.stage, fact.outcome).observe(fact.seconds)
        self._series("state_seconds", "task", TaskStatus.RUNNING).observe(fact.seconds)

    def _on_duty(self, fact: facts.DutyRun) -> None:
        self._series("keeper_duty_seconds", fact.duty).observe(fact.seconds)
        self._series("keeper_duty_failures_total", fact.duty).inc(fact.failed)

    def _on_request(self, fact: facts.RequestAnswered) -> None:
        self._series("http_requests_total", fact.method, fact.route, str(fact.status)).inc()
        self._series("http_request_seconds", fact.route).observe(fact.seconds)

    def _on_exit(self, fact: facts.ToolExited) -> None:
        self._series("command_exits_total", fact.program, fact.cause).inc()

    def _on_encoded(self, fact: facts.Encoded) -> None:
        self._series("media_seconds_encoded_total", fact.rung).inc(fact.media_seconds)
        if fact.seconds > 0:
            self._series("encode_speed_ratio", fact.rung).observe(fact.media_seconds / fact.seconds)

    def _on_state(self, fact: facts.StateWritten) -> None:
        self._series("state_write_seconds").observe(fact.seconds)
        self._series("state_write_errors_total").inc(fact.failed)

    def _on_cache(self, fact: facts.CacheRead) -> None:
        self._cache_reads[fact.cache, fact.hit] += 1
        self._series("cache_reads_total", fact.cache, "hit" if fact.hit else "miss").inc()

    def _on_delivered(self, fact: facts.FeedDelivered) -> None:
        self._lag = max(0.0, fact.seconds)
        self._series("feed_delivery_seconds").observe(self._lag)

    def _on_replayed(self, fact: facts.FeedReplayed) -> None:
        self._series("feed_replay_seconds").observe(fact.seconds)

    def _on_feed(self, fact: facts.FeedEvent) -> None:
        names = {
            "reconnected": "feed_reconnects_total",
            "dropped": "feed_dropped_total",
            "overflow": "feed_overflows_total",
            "drift": "feed_version_drift_total",
        }
        self._series(names[fact.kind]).inc(fact.number)


class _Exposed(CollectorRegistry):
    """A registry, and more families, without the times at which its series were created."""

    def __init__(self, registry: CollectorRegistry, more: Iterable[Family] = ()) -> None:
        super().__init__()
        self._inner = registry
        self._more = more

    def collect(self) -> Iterator[Family]:
        for family in self._inner.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family
        yield from self._more


@contextmanager
def counting(metrics: Metrics) -> Iterator[Metrics]:
    """Count the facts of this process while the context is open."""
    facts.add_sink(metrics)
    try:
        yield metrics
    finally:
        facts.remove_sink(metrics)
