"""`reel up`: run the HTTP API, the keeper and workers on one machine."""

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

from reelstate.app import keeper_for, metered, open_engine
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
"""A context that is open while the workers run."""
STEADY = 60.0
"""Seconds after which the restart delay of a worker is reset."""


def up(
    app: App = None,
    database: Database = None,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, metavar="COUNT", help="Worker processes.")] = 1,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="COUNT", help="Tasks per worker to run concurrently.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Workers are named NAME-1, NAME-2, …; the host name by default.")
    ] = None,
    capabilities: Capabilities = None,
    pipelines: Pipelines = None,
    serve: Annotated[bool, typer.Option(help="Also serve the HTTP API.")] = True,
    host: Host = None,
    port: Port = None,
    insecure: Insecure = False,
) -> None:
    """Run the HTTP API, the keeper and workers on this machine; a worker that exits is restarted.

    They run `transcode` and the pipelines of --app; --pipelines selects some.

    SIGINT (ctrl-C) or SIGTERM lets running tasks finish within the grace period; a second signal releases them.

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
    select_pipelines(settings)  # report errors here once, not in every worker
    fixed = port is not None or variable("serve_port") in os.environ
    asyncio.run(_run(settings, workers, serve=serve, insecure=insecure, elsewhere=not fixed))


async def _run(settings: Settings, workers: int, *, serve: bool, insecure: bool, elsewhere: bool) -> None:
    supervisor = _Supervisor(settings, workers)
    if not serve:
        with metered(settings):
            await supervisor.run()
        return
    from reelstate.cli.serving import bind_socket, serve_in_background  # noqa: PLC0415 - slow to load

    with bind_socket(settings, insecure=insecure, elsewhere=elsewhere) as sock:
        await supervisor.run(lambda engine: serve_in_background(engine, settings, sock))


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
            self._handle_signals()
            keeper = keeper_for(engine, self._settings)
            keeper_task = asyncio.create_task(keeper.run())
            try:
                async with beside(engine):
                    self._announce(pipelines)
                    await asyncio.gather(*(self._keep_alive(number) for number in range(1, self._count + 1)))
            finally:
                keeper_task.cancel()
                await asyncio.gather(keeper_task, return_exceptions=True)
        print_status("reel stopped; unfinished tasks stay in the store")

    def _handle_signals(self) -> None:
        """Handle signals once there are workers to stop; before that a signal ends the process."""
        loop = asyncio.get_running_loop()
        for number in stop_signals():
            loop.add_signal_handler(number, self._stop)

    def _announce(self, pipelines: Sequence[Pipeline]) -> None:
        database = mask_passwords(self._settings.database_url)
        print_status(f"reel is up: {', '.join(pipeline.name for pipeline in pipelines)} on {database}")
        last = pipelines[-1].name
        print_status(f"submit with: reel submit {f'{last} VIDEO' if last == TRANSCODE else last} --database {database}")

    def _stop(self) -> None:
        command = STOP_NOW if self._stopping.is_set() else STOP
        self._stopping.set()
        for process in self._processes:
            _send(process, command)

    async def _keep_alive(self, number: int) -> None:
        """Start a worker and restart it when it exits, after a delay that grows while it keeps exiting."""
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            started = time.monotonic()
            outcome = await self._run_worker(number)
            if self._stopping.is_set():
                return
            delay = FIRST_DELAY if time.monotonic() - started > STEADY else min(MAX_DELAY, delay * 2)
            print_status(f"worker {number} {outcome}; restarting in {delay:.1f} s")
            await self._sleep(delay)

    async def _run_worker(self, number: int) -> str:
        """Run a worker process until it exits, and describe how; a failed start may succeed later."""
        try:
            return describe_exit(await self._run_process(number))
        except OSError as error:
            return f"could not be started: {error}"

    async def _run_process(self, number: int) -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "reelstate", "worker", "--no-keeper", stdin=PIPE, env=self._environment(number)
        )
        self._processes.add(process)
        if self._stopping.is_set():
            _send(process, STOP)
        try:
            return await process.wait()
        finally:
            self._processes.discard(process)

    def _environment(self, number: int) -> dict[str, str]:
        """Return the environment of a worker: settings are passed there, where process lists do not show them."""
        name = self._settings.worker_name or host_name()
        settings = {
            "app": self._settings.app,
            "database_url": self._settings.database_url,
            "worker_name": f"{name}-{number}",
            "worker_concurrency": str(self._settings.worker_concurrency),
            "worker_capabilities": self._settings.worker_capabilities,
            "worker_pipelines": self._settings.worker_pipelines,
            "metrics_port": str(self._settings.metrics_port and self._settings.metrics_port + number),
        }
        return {**os.environ, **{variable(key): value for key, value in settings.items()}, SUPERVISED: "1"}

    async def _sleep(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)


def _send(process: Process, command: bytes) -> None:
    if process.stdin is not None and process.returncode is None:
        process.stdin.write(command)
