"""Where remote workers are registered, no tool runs without a sandbox unless the settings allow it."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from reelstate.app import built_in_pipelines, confine_tools, keep_tools_confined, remote_worker
from reelstate.config import Settings
from reelstate.media.sandbox.sandbox import AUTO, OFF, REQUIRE
from reelstate.media.stages.stage import StageGroup
from reelstate.pipelines.declaration import Pipeline
from reelstate.services.keys import Keys, Scope
from tests.engines import engine_at


def mode_of(pipeline: Pipeline) -> str:
    """Return the sandbox mode of the tools of a pipeline."""
    group = getattr(pipeline.handlers["encode"].call, "__self__", None)
    assert isinstance(group, StageGroup)
    return group._tools.sandbox.mode


def settings_in(folder: Path, **changes: str) -> Settings:
    return Settings(storage_url=str(folder / "media"), scratch=str(folder), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("given, wanted", [(AUTO, REQUIRE), (REQUIRE, REQUIRE), (OFF, OFF)])
async def test_a_worker_beside_remote_ones_requires_the_sandbox(
    database_url: str, tmp_path: Path, given: str, wanted: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = settings_in(tmp_path, sandbox=given)
    pipelines = built_in_pipelines(settings)
    async with engine_at(database_url) as engine:
        keys = Keys(engine.store)
        await keys.create("reader", scopes=[Scope.READ], user_id="ada", actor="operator:test")
        gone = (await keys.create("gone", scopes=[Scope.WORKER], actor="operator:test")).key
        await keys.revoke(gone.id, actor="operator:test")
        assert not await confine_tools(engine, pipelines, settings)
        assert mode_of(pipelines[0]) == given
        watching = asyncio.create_task(keep_tools_confined(engine, pipelines, settings))
        await keys.create("far", scopes=[Scope.WORKER], actor="operator:test")
        await asyncio.wait_for(watching, 300)
    assert mode_of(pipelines[0]) == wanted
    assert ("sandbox off while remote workers are registered" in caplog.text) == (given == OFF)


async def test_a_remote_worker_requires_the_sandbox(tmp_path: Path, refusing_port: int) -> None:
    settings = settings_in(tmp_path, server_url=f"http://127.0.0.1:{refusing_port}", server_key="reel_0_0")
    pipelines = built_in_pipelines(settings)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(remote_worker(pipelines, settings))
        assert mode_of(pipelines[0]) == REQUIRE
