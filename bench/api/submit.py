"""The jobs per second that one server process accepts: one per request, and many per request."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.api.client import rate
from bench.api.server import databases, serving
from bench.measured import Measured

BATCH: Final = 500
WARM_UP: Final = 50
SINGLES, BATCHES = 300, 1500


def measure(folder: Path, *, quick: bool) -> Iterator[Measured]:
    with databases(folder) as found:
        for kind, url in found.items():
            yield from _measured(kind, url, folder, quick=quick)


def _measured(kind: str, url: str, folder: Path, *, quick: bool) -> Iterator[Measured]:
    singles = [("POST", "/api/v1/jobs", _job(number)) for number in range(100 if quick else 3000)]
    batches = [_batch(number) for number in range(2 if quick else 40)]
    with serving(url, folder) as server:
        asyncio.run(rate(server, singles[:WARM_UP], 201))
        found = asyncio.run(rate(server, singles, 201))
        yield Measured(f"jobs submitted one a request, {kind}", found, "jobs/s", least=SINGLES)
        found = asyncio.run(rate(server, batches, 201, connections=2)) * BATCH
        yield Measured(f"jobs submitted {BATCH} a request, {kind}", found, "jobs/s", least=BATCHES)


def _job(number: int) -> dict[str, Any]:
    return {"pipeline": "single", "spec": {"number": number, "source": "https://example.com/video.mov"}}


def _batch(number: int) -> tuple[str, str, Any]:
    return "POST", "/api/v1/jobs/batch", {"jobs": [_job(number * BATCH + place) for place in range(BATCH)]}
