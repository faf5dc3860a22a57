"""Scrapes: the samples of a text that Prometheus would read, and what has changed between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prometheus_client.parser import text_string_to_metric_families

from reelstate.telemetry.declarations import METRICS, PREFIX, Kind

Series = tuple[str, frozenset[tuple[str, str]]]


class Scrape:
    """The samples of one scrape."""

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        self.families = {family.name for family in families}
        self.samples: dict[Series, float] = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the series with at least these labels; 0 if there is none."""
        return sum(
            value
            for (found, pairs), value in self.samples.items()
            if found == PREFIX + name and set(labels.items()) <= pairs
        )

    def labels(self, name: str) -> list[dict[str, str]]:
        return [dict(pairs) for found, pairs in self.samples if found == PREFIX + name]


def sample_names() -> dict[str, list[str]]:
    """Return the sample names of each declared metric."""
    parts = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count")}
    return {metric.name: [PREFIX + metric.name + part for part in parts.get(metric.kind, ("",))] for metric in METRICS}


def changed(before: Scrape, after: Scrape) -> set[str]:
    """Return the declared metrics of which a series has changed."""
    different = {
        name for (name, pairs), value in after.samples.items() if before.samples.get((name, pairs), 0.0) != value
    } | {name for (name, pairs), value in before.samples.items() if after.samples.get((name, pairs), 0.0) != value}
    return {name for name, samples in sample_names().items() if different & set(samples)}


def increase(before: Scrape, after: Scrape, name: str, **labels: str) -> float:
    return after.value(name, **labels) - before.value(name, **labels)


def require(before: Scrape, after: Scrape, expected: Iterable[tuple[str, Mapping[str, str], float]]) -> None:
    """Assert how much series have increased."""
    found = [(name, dict(labels), increase(before, after, name, **labels)) for name, labels, _ in expected]
    assert found == [(name, dict(labels), value) for name, labels, value in expected]
