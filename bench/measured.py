"""A measurement of a scenario, and its aim."""

from dataclasses import dataclass
from typing import Final

HEADINGS: Final = ("what", "found", "aim", "")


@dataclass(frozen=True)
class Measured:
    subject: str
    value: float
    unit: str
    least: float | None = None
    """The smallest value that meets the aim."""
    most: float | None = None
    """The largest value that meets the aim."""

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

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The cells below `HEADINGS`."""
        return self.subject, self.shown, self.aim, "met" if self.met else "missed"
