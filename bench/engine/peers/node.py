"""Peers under Node: this side only starts the script in the peer's folder and reads its rates."""

import asyncio
import json
import shutil
import subprocess
from pathlib import Path

from bench.engine.system import EventLoop, Unavailable


def install(folder: Path) -> None:
    """Install what the lock file of a folder names, unless it is there."""
    absent = [tool for tool in ("node", "npm") if shutil.which(tool) is None]
    if absent:
        raise Unavailable(f"{' and '.join(absent)} not found")
    if not (folder / "node_modules" / ".package-lock.json").exists():
        command = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


class NodePeer:
    """A package and its script `measure.mjs` in `folder`."""

    event_loop: EventLoop = "asyncio"
    settings: str
    package: str
    folder: Path

    @property
    def _node(self) -> str:
        """The Node of the lock file where it has one for this machine: the system's may be too old."""
        locked = self.folder / "node_modules" / ".bin" / "node"
        return str(locked) if locked.exists() else "node"

    def versions(self) -> dict[str, str]:
        package = json.loads((self.folder / "node_modules" / self.package / "package.json").read_text())
        runtime = subprocess.run([self._node, "--version"], capture_output=True, text=True, check=True)
        return {self.package: package["version"], "node": runtime.stdout.strip().removeprefix("v")}

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
            self._node, "measure.mjs", verb, self._url, str(count), cwd=self.folder, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        if process.returncode != 0:
            message = f"measure.mjs {verb} ended with {process.returncode}"
            raise RuntimeError(message)
        rate: float = json.loads(output.splitlines()[-1])["rate"]
        return rate
