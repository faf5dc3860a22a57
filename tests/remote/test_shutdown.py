"""A server that stops cancels inspections of completions; the worker sends the completion again later."""

import asyncio
from pathlib import Path

import httpx
import psycopg

import reelstate as rs
from reelstate.api.remotes import INSPECTION
from reelstate.app import built_in_pipelines
from reelstate.core.machine import TaskStatus
from tests.api.api_server import api_server
from tests.engines import engine_at
from tests.media.source_videos import profile
from tests.media.test_results import FACTS, PLAN
from tests.remote.scripted_worker import ScriptedWorker, remotes_of
from tests.waiting import until

BEFORE = ({"profile": "tiny", "size": 1}, FACTS.to_json())
"""Results of `validate` and `probe`, which are accepted without running the stage again."""


def inspections() -> list[asyncio.Task[object]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == INSPECTION]


async def test_an_inspection_in_progress_ends_with_the_server(postgres_database: str, tmp_path: Path) -> None:
    graphs = [pipeline.graph for pipeline in built_in_pipelines(rs.Settings())]
    options = {"storage_url": str(tmp_path / "media"), "scratch": str(tmp_path / "server"), "serve_grace": 1.0}
    async with engine_at(postgres_database, graphs=graphs) as engine:
        job_id = (await engine.submit("transcode", {"source": "/videos/video.mp4", "profile": profile()})).job_id
        async with await psycopg.AsyncConnection.connect(postgres_database) as holder:
            async with api_server(engine, postgres_database, **options) as api:
                far = await ScriptedWorker.of(api, "far", pipelines=["transcode"])
                for result in BEFORE:
                    (task,) = await far.claim()
                    assert (await far.send_items("complete", task["permit"], result=result)).status_code == 200
                (task,) = await far.claim()
                await holder.execute("LOCK TABLE reelstate.stages IN ACCESS EXCLUSIVE MODE")
                completing = asyncio.create_task(far.send_items("complete", task["permit"], result=PLAN.to_json()))
                await until(lambda: len(inspections()) == 1)
                remotes = remotes_of(api)
            assert inspections() == []
            assert not remotes._inspecting
            (answer,) = await asyncio.gather(completing, return_exceptions=True)
            assert not (isinstance(answer, httpx.Response) and answer.is_success)
            await holder.rollback()
        (plan,) = (await engine.tasks(job_id, stage="plan")).items
        assert plan.status is TaskStatus.RUNNING, "it was neither accepted nor refused"
