"""A video library behind the API: `transcode` has two stages without ffmpeg, which the test completes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reelstate.artifacts.storage import Storage, open_storage
from reelstate.core.machine import JobStatus
from reelstate.core.pipeline import Graph, StageSpec
from tests.api.api_server import Server, api_server
from tests.conformance.scenarios import finish
from tests.engines import a_worker, engine_at

VIDEOS = "/api/v1/videos"
UPLOADS = "/api/v1/uploads"
WEB = "https://example.com/video.mov"
TRANSCODE = Graph.of(
    "transcode",
    built_in=True,
    stages=[
        StageSpec(name="plan", phase=JobStatus.PLANNING),
        StageSpec(name="publish", after=("plan",), phase=JobStatus.UPLOADING_OUTPUTS),
    ],
)


@dataclass(frozen=True)
class VideoLibrary:
    api: Server
    storage: Storage
    folder: Path

    async def make(self, role: str = "ada", **body: Any) -> tuple[int, int]:
        """Create a video as a role; return its id and its first job."""
        answer = await self.api.ask(role, "POST", VIDEOS, json={"source": WEB, **body})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"], answer.json()["job"]

    async def remake(self, video_id: int, role: str = "ada", **body: Any) -> int:
        answer = await self.api.ask(role, "POST", f"{VIDEOS}/{video_id}/retranscode", json=body)
        assert answer.status_code == 201, answer.text
        return int(answer.json()["job"])

    async def complete(self) -> None:
        """Complete all tasks."""
        await finish(self.api.engine, await a_worker(self.api.engine), {"publish": {"master": "m.m3u8"}})

    async def show(self, video_id: int, role: str = "ada") -> Any:
        answer = await self.api.ask(role, "GET", f"{VIDEOS}/{video_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def spooled(self) -> list[str]:
        """Return the files of unfinished uploads."""
        return sorted(path.name for path in (self.folder / ".uploads").glob("*"))

    def sources(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "sources").glob("*"))


@asynccontextmanager
async def library_at(database_url: str, folder: Path, **settings: Any) -> AsyncIterator[VideoLibrary]:
    given = {"storage_url": str(folder), **settings}
    async with (
        engine_at(database_url, graphs=[TRANSCODE]) as engine,
        api_server(engine, database_url, **given) as api,
    ):
        yield VideoLibrary(api, open_storage(str(given["storage_url"])), folder)
