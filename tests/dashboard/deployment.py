"""A deployment as operators have it: `reel up` in processes of its own, and a client of its API."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx

from tests.docs.pages import ROOT, free_port
from tests.waiting import until_true

APP: Final = "tests.dashboard.pipelines:gated"
QUICK: Final = {
    "REEL_WORKER_PREFETCH": "0",
    "REEL_HEARTBEAT": "0.5",
    "REEL_STALE_AFTER": "2",
    "REEL_SWEEP_EVERY": "0.3",
    "REEL_ORCHESTRATE_EVERY": "0.3",
    "REEL_RATE_PER_KEY": "100000",
    "REEL_RATE_PER_ADDRESS": "100000",
    "REEL_STREAM_RETRY": "0.2",
    "REEL_STREAMS_PER_KEY": "100",
    "REEL_WORKER_GRACE": "1",
    "REEL_SERVE_GRACE": "1",
    "REEL_ENCODE_THREADS": "1",
}
"""A dead worker is noticed after two seconds, and no rate is reached."""


@dataclass
class Deployment:
    """A running `reel up` and what its API shows to an admin."""

    folder: Path
    database: str
    port: str
    process: subprocess.Popen[bytes]
    _clients: list[httpx.Client] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def admin_key(self) -> str:
        (path,) = (self.folder / "state").glob("*.key")
        if not (key := path.read_text().strip()):  # the server has checked only that it can write the file
            raise ValueError("the key is not written yet")
        return key

    @property
    def api(self) -> httpx.Client:
        """A client with the key of the first admin."""
        if not self._clients:
            self._clients.append(self.client(self.admin_key))
        return self._clients[0]

    def client(self, key: str) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"}
        return httpx.Client(base_url=f"{self.url}/api/v1", headers=headers, trust_env=False, timeout=60)

    def get(self, path: str, **query: Any) -> Any:
        return self.api.get(path, params=query).raise_for_status().json()

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self.api.post(path, json=body or {}).raise_for_status().json()

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        return self.api.put(path, json=body).raise_for_status().json()

    def make_key(self, name: str, *scopes: str, user_id: str = "") -> Any:
        return self.post("keys", {"name": name, "scopes": [f"jobs:{scope}" for scope in scopes], "user_id": user_id})

    def sign_in_url(self) -> str:
        """The one-time address that the server printed, or wrote to a private file because no terminal was there."""
        (path,) = (self.folder / "state").glob("*.signin")
        return path.read_text().strip()

    def submit(self, parts: int, **more: Any) -> tuple[int, Path]:
        """Submit a job whose parts wait for their gates; return its id and the folder of the gates."""
        gates = self.folder / f"gates-{len(list(self.folder.glob('gates-*')))}"
        gates.mkdir()
        spec = {"parts": parts, "folder": str(gates)}
        return int(self.post("jobs", {"pipeline": "gated", "spec": spec, **more})["id"]), gates

    def status(self, job: int) -> str:
        return str(self.get(f"jobs/{job}")["status"])

    def tasks(self, job: int, stage: str = "work", status: str | None = None) -> list[Any]:
        query = {"stage": stage} | ({"status": status} if status else {})
        return list(self.get(f"jobs/{job}/tasks", **query)["items"])

    def until_running(self, job: int, count: int) -> list[Any]:
        """Wait until so many parts of a job run."""
        return list(
            until_true(lambda: found if len(found := self.tasks(job, status="running")) == count else None, "running")
        )

    def until_status(self, job: int, status: str) -> None:
        until_true(lambda: self.status(job) == status, f"job {job} is {status}")

    def worker_process(self, name: str) -> int:
        """The id of the process of a worker."""
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                environment = (folder / "environ").read_bytes().split(b"\0")
                command = (folder / "cmdline").read_bytes().split(b"\0")
                is_ours = f"REEL_STATE_DIR={self.folder / 'state'}".encode() in environment
                if is_ours and f"REEL_WORKER_NAME={name}".encode() in environment and b"worker" in command:
                    return int(folder.name)
        raise AssertionError(f"no process of worker {name}")

    def kill_worker(self, name: str) -> None:
        os.kill(self.worker_process(name), signal.SIGKILL)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextlib.contextmanager
def started(
    folder: Path, database: str, workers: int = 2, concurrency: int = 1, **settings: str
) -> Iterator[Deployment]:
    """Run a deployment until the context is left."""
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REEL_")}
    environment = {
        **kept,
        **QUICK,
        "PYTHONPATH": str(ROOT),
        "REEL_STATE_DIR": str(folder / "state"),
        "REEL_STORAGE_URL": str(folder / "media"),
        "REEL_SCRATCH": str(folder / "scratch"),
        "REEL_INPUT_ROOTS": str(folder),
        **settings,
    }
    command = [sys.executable, "-m", "reelstate", "up", "--app", APP, "--database", database, "--port", port]
    command += ["--workers", str(workers), "--concurrency", str(concurrency), "--name", "worker"]
    log = folder / "server.log"
    with log.open("ab") as written:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=written, stderr=written, process_group=0
        )
    deployment = Deployment(folder, database, port, process)
    try:
        until_true(lambda: _is_ready(deployment, workers, log), "the deployment")
        yield deployment
    finally:
        deployment.close()


def _is_ready(deployment: Deployment, workers: int, log: Path) -> bool:
    assert deployment.process.poll() is None, log.read_text()
    try:
        active = [each for each in deployment.get("workers") if each["lifecycle"] == "active"]
    except (httpx.TransportError, ValueError):  # it does not listen yet, or has not written its key
        return False
    return len(active) == workers and bool(list((deployment.folder / "state").glob("*.signin")))
