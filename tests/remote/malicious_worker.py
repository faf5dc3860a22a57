"""A malicious remote worker, and what is monitored during its attacks: a canary file, a secret, time and memory.

It knows the result of every stage from a job that an honest worker ran, so it can reach any stage before it lies. The
server runs in a separate process.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import httpx

from reelstate.app import built_in_pipelines, open_engine
from reelstate.config import Settings
from reelstate.core.machine import JobStatus
from reelstate.engine import Engine
from reelstate.media.packaging.manifest import MANIFEST
from reelstate.media.results import RESULTS
from reelstate.remote.wire import PERMIT_HEADER, PREFIX, PROTOCOL
from reelstate.services.keys import Keys, Scope
from tests.api.server_process import ServerProcess
from tests.media.clips import ffmpeg
from tests.media.deployment import start_deployment
from tests.media.source_videos import BUILD, TIMEOUT, make_video, profile

Json = Any
TICKS: Final = os.sysconf("SC_CLK_TCK")
MEBIBYTE: Final = 1024 * 1024
PAUSE: Final = 0.005
COPY: Final = ("-c", "copy", "-c:s", "mov_text")
CAPTIONS: Final = "1\n00:00:00,100 --> 00:00:00,900\nwords\n"
STAGES: Final = tuple(RESULTS)


@dataclass
class Watch:
    """Polls the liveness of a server and records the longest time that the server was busy with something else.

    It counts the CPU time that the server spent while a request waited, at most the waiting time: on a busy machine
    requests wait although the server spends nothing.
    """

    server: ServerProcess
    worst: float = 0.0
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self._ask, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def _ask(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=300)
        while not self._ended.wait(PAUSE):
            began, spent = time.monotonic(), cpu_seconds(self.server.pid)
            connection.request("GET", "/livez")
            connection.getresponse().read()
            waited = time.monotonic() - began
            self.worst = max(self.worst, min(waited, cpu_seconds(self.server.pid) - spent))
        connection.close()


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@dataclass
class Model:
    """A job that an honest worker ran: the result of each part of each stage, and where its files are."""

    job: int
    source: Path
    storage: Path
    tasks: dict[tuple[str, int], Json]
    """Results by stage and part."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.source.read_bytes()).hexdigest()

    def moved(self, data: bytes, job: int) -> bytes:
        """Return the bytes of a file or a result as another job has them; all runs have the token 1."""
        return data.replace(f"versions/{self.job}/".encode(), f"versions/{job}/".encode())

    def files(self, stage: str, part: int, job: int) -> dict[str, bytes]:
        """Return the files that a part has made, by name."""
        folder = self.storage / f"versions/{self.job}/{stage}/{part}/1"
        found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return {name: self.moved(data, job) if name == MANIFEST else data for name, data in found.items()}

    def result(self, stage: str, part: int, job: int) -> Json:
        result = json.loads(self.moved(json.dumps(self.tasks[stage, part]).encode(), job))
        if stage == "package":
            data = self.files(stage, part, job)[MANIFEST]
            result["manifest"] |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        return result


async def make_model(folder: Path) -> Model:
    """Have an honest worker transcode a video of two seconds with sound, captions and thumbnails."""
    (folder / "captions.srt").write_text(CAPTIONS)
    plain, source = make_video(folder / "plain.mp4", 2), folder / "source.mp4"
    ffmpeg(BUILD, "-i", str(plain), "-i", str(folder / "captions.srt"), *COPY, str(source))
    async with start_deployment(folder) as here:
        stored = here.storage / "sources" / hashlib.sha256(source.read_bytes()).hexdigest()
        stored.parent.mkdir(parents=True)
        stored.write_bytes(source.read_bytes())
        detail = await here.transcode(f"stored://{stored.name}", profile=profile(thumbnails=True, sprites=True))
        assert detail.job.status is JobStatus.COMPLETED, detail.job.error
        tasks = await here.tasks(detail.job.id)
        assert {task.token for task in tasks} == {1}
        found = {(task.stage_name, task.part): task.result for task in tasks}
    return Model(detail.job.id, source, here.storage, found)


@dataclass
class MaliciousWorker:
    url: str
    """Of the database."""
    engine: Engine
    server: ServerProcess
    model: Model
    client: httpx.AsyncClient
    storage: Path
    canary: Path
    """Must never be created."""
    secret: Path
    """Must never be read: what is in it must be in no file of the storage."""
    worker_id: int = 0
    accepted: list[tuple[int, Json]] = field(default_factory=list)
    """Jobs for which a false result was accepted, with that result."""

    def poison(self) -> list[str]:
        """Return texts that would make ffmpeg or the server touch the canary or read the secret."""
        return [
            f"null,metadata=mode=print:file={self.canary}",
            f"smpte2084:t=linear,metadata=mode=print:file={self.canary},zscale=t=linear",
            f"null,drawtext=textfile={self.secret}",
            f"movie={self.secret}",
            f"../../../../../../../../..{self.canary}",
            f"file:{self.canary}",
            str(self.canary),
            str(self.secret),
            f"{self.canary}\x00.mp4",
        ]

    async def post(self, verb: str, body: Json) -> httpx.Response:
        text = json.dumps(body).encode()  # not strict JSON: an attacker writes NaN
        return await self.client.post(f"/{verb}", content=text, headers={"Content-Type": "application/json"})

    async def register(self, **changes: Json) -> httpx.Response:
        answer = await self.post("register", {**hello(), **changes})
        if answer.is_success:
            self.worker_id = answer.json()["worker_id"]
        return answer

    async def submit(self) -> int:
        spec = {"source": f"stored://{self.model.sha256}", "profile": profile(thumbnails=True, sprites=True)}
        return (await self.engine.submit("transcode", spec)).job_id

    async def claim(self) -> list[Json]:
        answer = await self.post("claim", {"worker_id": self.worker_id, "limit": 50})
        assert answer.status_code == 200, answer.text
        tasks: list[Json] = answer.json()["tasks"]
        return tasks

    async def reach(self, job: int, stage: str) -> tuple[list[Json], list[Json]]:
        """Send true results until a stage can run; return its tasks, and the others claimed with them."""
        others: list[Json] = []
        for _ in STAGES:
            tasks = [task for task in await self.claim() if task["key"][0] == job]
            wanted = [task for task in tasks if task["stage"] == stage]
            others += [task for task in tasks if task["stage"] != stage]
            if wanted:
                return wanted, others
            for task in others:
                answer = await self.complete(task, await self.truth(task))
                assert answer.json() == {"verdicts": ["ok"]}, (task["stage"], answer.text)
            others = []
        raise AssertionError(f"{stage} was not reached")

    async def truth(self, task: Json) -> Json:
        """Send the files of a task and return its true result."""
        stage, (job, _, part) = task["stage"], task["key"]
        for name, data in self.model.files(stage, part, job).items():
            answer = await self.put(task, name, data)
            assert answer.status_code == 200, (name, answer.text)
        return self.model.result(stage, part, job)

    async def put(self, task: Json, name: str, data: bytes) -> httpx.Response:
        digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
        headers = {PERMIT_HEADER: task["permit"], "Content-Digest": f"sha-256=:{digest}:"}
        return await self.client.put(f"/files/{folder_of(task)}/{name}", content=data, headers=headers)

    async def complete(self, task: Json, result: Json) -> httpx.Response:
        return await self.post("complete", {"items": [{"permit": task["permit"], "result": result}]})

    async def lie(self, stage: str, change: Any) -> bool:
        """Submit a job, send a false result for a stage, and return whether the server accepted it."""
        job = await self.submit()
        (task, *_), _ = await self.reach(job, stage)
        result = change(await self.truth(task))
        answer = await self.complete(task, result)
        assert answer.status_code < 500, (stage, answer.text)
        accepted = answer.status_code == 200
        if accepted:
            self.accepted.append((job, result))
        else:
            await self.engine.cancel(job)
        return accepted

    async def continue_honestly(self, jobs: list[int]) -> None:
        """Have an honest worker without a sandbox continue jobs with an accepted false result."""
        if not jobs:
            return
        inner = str(self.storage.parent / "inner")
        settings = Settings(storage_url=str(self.storage), scratch=inner, sandbox="off", encode_threads=1)
        async with open_engine(
            self.url, pipelines=built_in_pipelines(settings), workers=2, settings=settings
        ) as engine:
            for job in jobs:
                await engine.wait(job, timeout=TIMEOUT)

    def require_untouched(self) -> None:
        assert not self.canary.exists(), "the canary was written"
        secret = self.secret.read_bytes()
        for path in self.storage.rglob("*"):
            assert not path.is_file() or secret not in path.read_bytes(), f"{path} holds the secret"


def hello() -> Json:
    return {
        "protocol": PROTOCOL,
        "software": "test",
        "hostname": "far",
        "slots": 1000,
        "capabilities": ["ffmpeg", *(f"encoder:{name}" for name in ("libx264", "libx265", "libsvtav1", "aac"))],
        "pipelines": ["transcode"],
        "metadata": {"a": 1},
    }


def folder_of(task: Json) -> str:
    """Return the folder that the run of a claimed task writes to."""
    job, _, part = task["key"]
    return f"versions/{job}/{task['stage']}/{part}/{task['token']}"


@asynccontextmanager
async def attacked_server(folder: Path) -> AsyncIterator[MaliciousWorker]:
    """Start a server with one malicious worker."""
    url, storage = f"sqlite:///{folder / 'reelstate.db'}", folder / "media"
    for name in ("model", "scratch", "inner"):
        (folder / name).mkdir()
    model = await make_model(folder / "model")
    (storage / "sources").mkdir(parents=True)
    (storage / "sources" / model.sha256).write_bytes(model.source.read_bytes())
    secret = folder / "secret"
    secret.write_text(f"the secret {os.urandom(16).hex()}")
    secret.chmod(0o600)
    folders = {"REEL_STORAGE_URL": str(storage), "REEL_SCRATCH": str(folder / "scratch")}
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(open_engine(url, pipelines=built_in_pipelines(Settings())))
        key = (await Keys(engine.store).create("liar", scopes=[Scope.WORKER], actor="operator:test")).text
        server = await stack.enter_async_context(ServerProcess(folder, url, **folders))
        client = httpx.AsyncClient(
            base_url=server.url + PREFIX, headers={"Authorization": f"Bearer {key}"}, timeout=300, trust_env=False
        )
        await stack.enter_async_context(client)
        found = MaliciousWorker(url, engine, server, model, client, storage, folder / "canary", secret)
        assert (await found.register()).status_code == 200
        yield found
