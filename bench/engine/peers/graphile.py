"""graphile-worker under Node: this side only starts the script next door and reads its rates."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

from bench.engine.system import EventLoop, System, Unavailable

FOLDER = Path(__file__).parent / "graphile"
MODULES = FOLDER / "node_modules"


def install() -> None:
    """Install what the lock file names, unless it is there."""
    absent = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if absent:
        raise Unavailable(f"{' and '.join(absent)} not found")
    if not (MODULES / ".package-lock.json").exists():
        command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)


def node() -> str:
    """The Node of the lock file where it has one for this machine: the system's may be too old."""
    locked = MODULES / ".bin" / "node"
    return str(locked) if locked.exists() else "node"


class Graphile:
    """`addJobs` of 1,000 in, a local queue of 500 over 24 concurrent jobs out."""

    event_loop: EventLoop = "asyncio"
    settings = (
        "addJobs of 1,000, concurrentJobs 24, localQueue.size 500, "
        "completeJobBatchDelay 0, failJobBatchDelay 0, pool of 25"
    )

    def versions(self) -> dict[str, str]:
        package = json.loads((MODULES / "graphile-worker" / "package.json").read_text())
        runtime = subprocess.run([node(), "--version"], capture_output=True, text=True, check=True)
        return {"graphile-worker": package["version"], "node": runtime.stdout.strip().removeprefix("v")}

    async def prepare(self, url: str) -> None:
        self._url = url
        await self._run("prepare", 0)

    async def submit_simple(self, count: int) -> float:
        return await self._run("submit", count)

    async def drain_simple(self, count: int) -> float:
        return await self._run("drain", count)

    async def dispatch(self, count: int) -> list[float]:
        """The script gives the median alone."""
        return [await self._run("dispatch", count)]

    async def close(self) -> None:
        """Every call has disconnected already."""

    async def _run(self, verb: str, count: int) -> float:
        process = await asyncio.create_subprocess_exec(
            node(), "measure.mjs", verb, self._url, str(count), cwd=FOLDER, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        if process.returncode != 0:
            message = f"measure.mjs {verb} ended with {process.returncode}"
            raise RuntimeError(message)
        rate: float = json.loads(output.splitlines()[-1])["rate"]
        return rate


system: type[System] = Graphile
