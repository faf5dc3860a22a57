"""`reel up`: everything on one machine. It keeps the house in order and sees to it that the workers live."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Annotated

import typer

from reelstate.app import keeper_for, open_engine
from reelstate.cli.application import select_pipelines
from reelstate.cli.options import App, Capabilities, Database, Pipelines
from reelstate.cli.process import SUPERVISED, print_status, set_up_logging, stop_signals, store_options
from reelstate.cli.serve import Host, Insecure, Port
from reelstate.cli.worker import STOP, STOP_NOW
from reelstate.config import Settings, from_environment, variable
from reelstate.core.outcome import mask_passwords
from reelstate.engine import Engine
from reelstate.media import TRANSCODE
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.process import describe_exit
from reelstate.worker.settings import host_name

FIRST_DELAY, MAX_DELAY = 0.2, 30.0
Beside = Callable[[Engine], AbstractAsyncContextManager[None]]
"""What runs beside the workers of a house, as long as they do."""
STEADY = 60.0
"""A worker that has lived so long starts again without a pause."""


def up(
    app: App = None,
    database: Database = None,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, metavar="COUNT", help="Worker processes.")] = 1,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="COUNT", help="Tasks that each of them runs at once.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Workers are called NAME-1, NAME-2, …; the host's name if left out.")
    ] = None,
    capabilities: Capabilities = None,
    pipelines: Pipelines = None,
    serve: Annotated[bool, typer.Option(help="Also serve the HTTP API.")] = True,
    host: Host = None,
    port: Port = None,
    insecure: Insecure = False,
) -> None:
    """Run the HTTP API, the keeper and workers on this machine; a worker that dies is started again.

    They run the pipeline `transcode`, and yours if you name them; --pipelines chooses among them.

    Ctrl-C or SIGTERM: finish what runs within the grace; twice: give it back at once.

    Example: `reel up --app pipelines:thumbs --workers 2`
    """
    settings = from_environment(
        os.environ,
        app=app,
        database_url=database,
        worker_concurrency=concurrency,
        worker_name=name,
        worker_capabilities=capabilities,
        worker_pipelines=pipelines,
        serve_host=host,
        serve_port=port,
    )
    set_up_logging(settings)
    select_pipelines(settings)  # a mistake in it is told here, once, and not by every worker
    chosen = port is not None or variable("serve_port") in os.environ
    asyncio.run(_house(settings, workers, serve=serve, insecure=insecure, elsewhere=not chosen))


async def _house(settings: Settings, workers: int, *, serve: bool, insecure: bool, elsewhere: bool) -> None:
    supervisor = _Supervisor(settings, workers)
    if not serve:
        await supervisor.run()
        return
    from reelstate.cli.serving import bind_socket, serve_in_background  # noqa: PLC0415 - what serves is slow to load

    with bind_socket(settings, insecure=insecure, elsewhere=elsewhere) as made:
        await supervisor.run(lambda engine: serve_in_background(engine, settings, made))


class _Supervisor:
    def __init__(self, settings: Settings, workers: int) -> None:
        self._settings = settings
        self._count = workers
        self._stopping = asyncio.Event()
        self._processes: set[Process] = set()

    async def run(self, beside: Beside = lambda _: contextlib.nullcontext()) -> None:
        pipelines = select_pipelines(self._settings)
        url = self._settings.database_url
        migrate = self._settings.migrate != "never"
        async with open_engine(
            url, pipelines=pipelines, settings=self._settings, migrate=migrate, **store_options(url)
        ) as engine:
            self._heed_signals()
            keeper = keeper_for(engine, self._settings)
            keeping = asyncio.create_task(keeper.run())
            try:
                async with beside(engine):
                    self._announce(pipelines)
                    await asyncio.gather(*(self._keep_alive(number) for number in range(1, self._count + 1)))
            finally:
                keeping.cancel()
                await asyncio.gather(keeping, return_exceptions=True)
        print_status("reel is down; nothing was lost")

    def _heed_signals(self) -> None:
        """Not before there is a worker to stop: a house that still waits for its database just ends."""
        loop = asyncio.get_running_loop()
        for number in stop_signals():
            loop.add_signal_handler(number, self._stop)

    def _announce(self, pipelines: Sequence[Pipeline]) -> None:
        place = mask_passwords(self._settings.database_url)
        print_status(f"reel is up: {', '.join(pipeline.name for pipeline in pipelines)} on {place}")
        last = pipelines[-1].name
        print_status(f"submit with: reel submit {f'{last} FILM' if last == TRANSCODE else last} --database {place}")

    def _stop(self) -> None:
        word = STOP_NOW if self._stopping.is_set() else STOP
        self._stopping.set()
        for process in self._processes:
            _say_to(process, word)

    async def _keep_alive(self, number: int) -> None:
        """Start a worker, and again when it dies, after a pause that grows while it keeps dying."""
        pause = FIRST_DELAY
        while not self._stopping.is_set():
            started = time.monotonic()
            how = await self._life(number)
            if self._stopping.is_set():
                return
            pause = FIRST_DELAY if time.monotonic() - started > STEADY else min(MAX_DELAY, pause * 2)
            print_status(f"worker {number} {how}; it starts again in {pause:.1f} s")
            await self._pause(pause)

    async def _life(self, number: int) -> str:
        """One life of a worker, and how it ended; a machine that has no room for it now may have it later."""
        try:
            return describe_exit(await self._live(number))
        except OSError as error:
            return f"could not be started: {error}"

    async def _live(self, number: int) -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "reelstate", "worker", "--no-keeper", stdin=PIPE, env=self._environment(number)
        )
        self._processes.add(process)
        if self._stopping.is_set():
            _say_to(process, STOP)
        try:
            return await process.wait()
        finally:
            self._processes.discard(process)

    def _environment(self, number: int) -> dict[str, str]:
        """What `up` was told is told to the workers by their environment, where no list of processes shows it."""
        name = self._settings.worker_name or host_name()
        told = {
            "app": self._settings.app,
            "database_url": self._settings.database_url,
            "worker_name": f"{name}-{number}",
            "worker_concurrency": str(self._settings.worker_concurrency),
            "worker_capabilities": self._settings.worker_capabilities,
            "worker_pipelines": self._settings.worker_pipelines,
        }
        return {**os.environ, **{variable(key): value for key, value in told.items()}, SUPERVISED: "1"}

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _say_to(process: Process, word: bytes) -> None:
    if process.stdin is not None and process.returncode is None:
        process.stdin.write(word)
