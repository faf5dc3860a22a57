"""A server in a separate process: `reel serve` with its defaults, except for the rate limits."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.postgres import PostgresServer, memory_folder

TIMEOUT: Final = 60
UNLIMITED: Final = {"REEL_RATE_PER_KEY": "1e9", "REEL_RATE_PER_ADDRESS": "1e9"}


@dataclass(frozen=True)
class Server:
    host: str
    port: int
    key: str


@contextmanager
def serving(url: str, folder: Path) -> Iterator[Server]:
    """Start a server on a database, with an admin key."""
    key_file = folder / "key"
    log = folder / "log"
    own = {name: value for name, value in os.environ.items() if not name.startswith("REEL_")}
    options = {"REEL_DATABASE_URL": url, "REEL_KEY_FILE": str(key_file), "REEL_STORAGE_URL": str(folder / "media")}
    command = [sys.executable, "-m", "reelstate", "serve", "--port", "0", "--app", "bench.api.single:single"]
    with log.open("w") as written:
        process = subprocess.Popen(command, env={**own, **options, **UNLIMITED}, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        try:
            said = ""
            while not (found := re.search(r"serving http://([\d.]+):(\d+).*\n(?:.*\n)*.*sign in once", said)):
                line = process.stderr.readline()
                if not line:
                    raise RuntimeError(f"the server ended: {said}")
                said += line
            drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=written)
            yield Server(found[1], int(found[2]), key_file.read_text().strip())
        finally:
            process.terminate()
            process.wait(TIMEOUT)
    drain.wait(TIMEOUT)


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """Create an empty database of each kind, by the name of the kind."""
    with PostgresServer(folder=memory_folder()) as server:
        yield {"SQLite": f"sqlite:///{folder / 'bench.db'}", "PostgreSQL": server.new_database()}
