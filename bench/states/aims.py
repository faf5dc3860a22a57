"""The aims of subscriptions as data, and whether they are met."""

from dataclasses import dataclass
from typing import Final

Measured = dict[str, dict[str, float]]
"""By store and scenario, then by measure."""


@dataclass(frozen=True)
class Aim:
    """The largest accepted value of a measure, on any store."""

    scene: str
    measure: str
    most: float
    unit: str


@dataclass(frozen=True)
class Verdict:
    subject: str
    found: float
    aim: Aim

    @property
    def met(self) -> bool:
        return self.found <= self.aim.most


AIMS: Final = (
    Aim("delivery, with wake-ups", "p95", 250.0, "ms"),
    Aim("delivery, by polling only", "p95", 1500.0, "ms"),
    Aim("replay of 100,000 states", "manager", 5.0, "s"),
    Aim("replay of 100,000 states", "feed", 5.0, "s"),
    Aim("500 subscribers", "growth", 1.1, "times"),
)


def judge(measured: Measured) -> list[Verdict]:
    """Return a verdict on every aim for every measured store."""
    return [
        Verdict(f"{subject}: {aim.measure}", values[aim.measure], aim)
        for aim in AIMS
        for subject, values in measured.items()
        if subject.endswith(aim.scene)
    ]
