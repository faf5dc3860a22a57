"""Remote workers inside the test process, connected through a proxy that the test controls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import reelstate as rs
from reelstate.app import remote_worker
from reelstate.config import Settings
from reelstate.services.keys import Scope
from reelstate.worker.loop import WorkerLoop
from tests.api.api_server import Server
from tests.remote.lossy_proxy import LossyProxy

QUICK = Settings(poll=0.2, heartbeat=0.3, worker_grace=5.0, worker_kill_after=1.0, worker_capabilities="-ffmpeg")


def settings_for(key: str, proxy: LossyProxy, folder: Path, **options: Any) -> Settings:
    return replace(QUICK, server_url=proxy.url, server_key=key, scratch=str(folder), **options)


async def create_key(api: Server, name: str) -> str:
    return (await api.context.keys.create(name, scopes=[Scope.WORKER], actor="operator:test")).text


@asynccontextmanager
async def proxy_to(api: Server) -> AsyncIterator[LossyProxy]:
    port = urlsplit(api.url).port
    assert port
    async with LossyProxy.to(port) as proxy:
        yield proxy


@asynccontextmanager
async def run_remote_worker(pipelines: Sequence[rs.Pipeline], settings: Settings) -> AsyncIterator[WorkerLoop]:
    """Run a remote worker until the block is left."""
    async with remote_worker(pipelines, settings) as worker:
        running = asyncio.create_task(worker.run())
        registered = asyncio.create_task(worker.registered.wait())
        await asyncio.wait([running, registered], timeout=300, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield worker
        finally:
            registered.cancel()
            worker.stop()
            await asyncio.wait_for(running, 300)
