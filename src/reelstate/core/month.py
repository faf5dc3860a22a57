"""Months of the archive. The id of a job says when it was created, so its month follows from the id alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from reelstate.core.errors import InvalidRequest

ID_EPOCH: Final = 1_735_689_600
"""Unix seconds of 2025-01-01, from which ids count."""
ID_BITS: Final = 22
"""Low bits of an id, which hold a counter; the others hold seconds."""
_NAME: Final = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)
_LAST_YEAR: Final = 9998


@dataclass(frozen=True, slots=True, order=True)
class Month:
    """A calendar month in UTC."""

    year: int
    number: int

    @classmethod
    def of_id(cls, job_id: int) -> Month | None:
        """Return the month in which a job was created; None for a number that no job has."""
        seconds = (job_id >> ID_BITS) + ID_EPOCH
        if not ID_EPOCH <= seconds < datetime(_LAST_YEAR, 1, 1, tzinfo=UTC).timestamp():
            return None
        return cls.of_time(datetime.fromtimestamp(seconds, UTC))

    @classmethod
    def of_time(cls, at: datetime) -> Month:
        moment = at.astimezone(UTC)
        return cls(moment.year, moment.month)

    @classmethod
    def parse(cls, text: str) -> Month:
        """Return the month of a text such as 2026-11; raise `InvalidRequest` for another."""
        found = _NAME.fullmatch(text)
        if found is None or int(found[1]) > _LAST_YEAR:
            raise InvalidRequest("month", f"{text[:20]!r} is not a month", hint="write it as 2026-11")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.year:04d}-{self.number:02d}"

    @property
    def start(self) -> datetime:
        return datetime(self.year, self.number, 1, tzinfo=UTC)

    @property
    def next(self) -> Month:
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    @property
    def ids(self) -> tuple[int, int]:
        """The first id of the month, and the first one after it. The first month also has all that come before."""
        return id_at(self.start), id_at(self.next.start)


def id_at(moment: datetime) -> int:
    """Return the lowest id that a job created at this time may have."""
    return max(0, int(moment.timestamp()) - ID_EPOCH) << ID_BITS


def months_from(first: Month, count: int) -> Iterator[Month]:
    """Yield `count` months in order."""
    month = first
    for _ in range(count):
        yield month
        month = month.next
