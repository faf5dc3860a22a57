"""A receiver of webhooks in a process of its own: `python -m tests.webhooks.receiving DATABASE PORT SECRET TRAP FILE`.

It fails half of the requests, each in another way, and writes a line to a file for every request before it answers. A
test may kill it and start it again on the same port.
"""

import asyncio
import json
import os
import random
import sqlite3
import sys
from pathlib import Path
from typing import Any

import psycopg

from reelstate.stores.sqlite.address import database_path
from tests.waiting import forever
from tests.webhooks.receiver import Received, Receiver

HOOK, GONE = "/hook", "/gone"
ANSWERS = ["ok"] * 6 + ["500", "redirect", "busy", "break", "hang", "late"]
ACCEPTED = ("ok", "late")


class Unreliable:
    """Answers at random; a delivery is looked up in the database, where the job must have ended when it arrives."""

    def __init__(self, url: str, secret: str, trap: str, file: Path) -> None:
        self._url = url
        self._secret = secret
        self._trap = trap
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._random = random.Random()
        self._connection: Any = None

    async def __call__(self, received: Received) -> None:
        job_id = received.document["data"]["job_id"]
        answer = self._random.choice(ANSWERS)
        if answer == "hang" and self._random.random() > 0.1:  # a sender waits for it
            answer = "ok"
        signed, committed = received.is_signed_with(self._secret), self._has_ended(job_id)
        # Before the answer: an event that is acknowledged must be in the file when this process is killed.
        self._write(job=job_id, id=received.id, answer=answer, signed=signed, committed=committed)
        match answer:
            case "500":
                await received.answer("500 Internal Server Error")
            case "redirect":
                await received.answer("302 Found", Location=self._trap)
            case "busy":
                await received.answer("429 Too Many Requests", Retry_After=1)
            case "break" | "late":  # with `late` it has the event, and its answer is lost
                received.writer.close()
            case "hang":
                await forever()
            case _:
                await received.answer("204 No Content")

    async def gone(self, received: Received) -> None:
        self._write(job=received.document["data"]["job_id"], id=received.id, answer="gone", signed=True, committed=True)
        await received.answer("410 Gone")

    def _write(self, **line: Any) -> None:
        os.write(self._file, f"{json.dumps(line)}\n".encode())

    def _has_ended(self, job_id: int) -> bool:
        """Return whether the end of the job is committed: this is another connection than that of the engine."""
        if self._url.startswith("postgres"):
            self._connection = self._connection or psycopg.connect(self._url, autocommit=True)
            found = self._connection.execute("SELECT status FROM reelstate.jobs WHERE id = %s", [job_id]).fetchone()
        else:
            self._connection = self._connection or sqlite3.connect(f"file:{database_path(self._url)}?mode=ro", uri=True)
            found = self._connection.execute("SELECT status FROM jobs WHERE id = ?", [job_id]).fetchone()
        return found == ("completed",)


async def main(url: str, port: int, secret: str, trap: str, file: Path) -> None:
    unreliable = Unreliable(url, secret, trap, file)
    async with Receiver.running(port) as receiver:
        receiver.scripts |= {HOOK: unreliable, GONE: unreliable.gone}
        await forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], Path(sys.argv[5])))
