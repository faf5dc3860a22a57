"""The measured systems, their databases and scenarios."""

from dataclasses import dataclass
from typing import Final, Literal

Database = Literal["postgresql", "sqlite", "redis"]


@dataclass(frozen=True)
class Contestant:
    """A system under measure; `most` caps the jobs given to a slow one."""

    name: str
    module: str
    database: Database
    scenarios: tuple[str, ...]
    most: int | None = None

    @property
    def note(self) -> str:
        return "" if self.most is None else f"; given {self.most:,} jobs at most, because it is slow"

    def count(self, asked: int) -> int:
        return asked if self.most is None else min(asked, self.most)


OURS: Final = "ours"
OURS_ON_SQLITE: Final = "ours-sqlite"
CEILING: Final = "ceiling"
BARE: Final = "bare"
PGQUEUER: Final = "pgqueuer"
GRAPHILE: Final = "graphile"
PGBOSS: Final = "pgboss"
PROCRASTINATE: Final = "procrastinate"
HUEY: Final = "huey"
OBAN: Final = "oban"
CELERY: Final = "celery"

CONTESTANTS: Final = (
    Contestant(
        OURS,
        "bench.engine.ours",
        "postgresql",
        ("simple", "partitioned", "history", "claimers", "worker", "dispatch", "memory"),
    ),
    Contestant(CEILING, "bench.engine.ceiling", "postgresql", ("simple", "partitioned")),
    Contestant(BARE, "bench.engine.bare", "postgresql", ("simple", "partitioned")),
    Contestant(PGQUEUER, "bench.engine.peers.pgqueuer", "postgresql", ("simple", "dispatch")),
    Contestant(GRAPHILE, "bench.engine.peers.graphile", "postgresql", ("simple", "dispatch")),
    Contestant(PGBOSS, "bench.engine.peers.pgboss", "postgresql", ("simple", "dispatch")),
    Contestant(PROCRASTINATE, "bench.engine.peers.procrastinate", "postgresql", ("simple",), most=2_000),
    Contestant(OBAN, "bench.engine.peers.oban", "postgresql", ("simple", "dispatch"), most=5_000),
    Contestant(CELERY, "bench.engine.peers.celery", "redis", ("simple", "dispatch"), most=5_000),
    Contestant(OURS_ON_SQLITE, "bench.engine.ours", "sqlite", ("simple",)),
    Contestant(HUEY, "bench.engine.peers.huey", "sqlite", ("simple",)),
)
