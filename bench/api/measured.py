"""What a scenario found, and what was aimed at."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    subject: str
    value: float
    unit: str
    least: float | None = None
    """What it should be at least."""
    most: float | None = None
    """What it should be at most."""

    @property
    def met(self) -> bool:
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    @property
    def aim(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:,g}"
        return f"≤ {self.most:,g}" if self.most is not None else "–"

    @property
    def shown(self) -> str:
        return f"{self.value:,.0f} {self.unit}" if abs(self.value) >= 10 else f"{self.value:,.2f} {self.unit}"
