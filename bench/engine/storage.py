"""The bytes that a system writes into PostgreSQL: its write-ahead log, and the growth of its database."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from psycopg import AsyncConnection

READ = "SELECT pg_current_wal_insert_lsn() - '0/0', pg_database_size(current_database())"


@dataclass
class Storage:
    """Reads both before and after a block; zeros on another database."""

    url: str
    wal: float = 0.0
    size: float = 0.0

    async def __aenter__(self) -> Self:
        wal, size = await self._read()
        self.wal, self.size = -wal, -size
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wal, size = await self._read()
        self.wal, self.size = self.wal + wal, self.size + size

    async def _read(self) -> tuple[float, float]:
        if not self.url.startswith("postgresql"):
            return 0.0, 0.0
        async with await AsyncConnection.connect(self.url, autocommit=True) as connection:
            (row,) = await (await connection.execute(READ)).fetchall()
            return float(row[0]), float(row[1])

    def per(self, count: int, wal: str, size: str) -> dict[str, float]:
        """Return the bytes per job or task under these names; nothing on another database."""
        return {wal: self.wal / count, size: self.size / count} if self.wal else {}
