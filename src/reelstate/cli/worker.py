"""`reel worker`: run tasks in this process until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from reelstate.app import (
    confine_tools,
    keep_tools_confined,
    keeper_for,
    metered,
    open_engine,
    read_engine,
    read_worker,
    remote_worker,
    worker_for,
)
from reelstate.cli.application import select_pipelines
from reelstate.cli.options import App, Capabilities, Database, Pipelines
from reelstate.cli.process import SUPERVISED, freeze_garbage, print_status, set_up_logging, stop_signals, store_options
from reelstate.config import Settings, from_environment, variable
from reelstate.core.errors import InvalidRequest
from reelstate.pipelines.declaration import Pipeline
from reelstate.telemetry.metrics import Metrics
from reelstate.worker.loop import WorkerLoop

STOP, STOP_NOW = b"s", b"h"
"""Commands of `reel up` on stdin: finish within the grace period; release the tasks at once, as does end of file."""


def worker(
    app: App = None,
    database: Database = None,
    name: Annotated[str | None, typer.Option(help="The name of the worker; the host name by default.")] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="COUNT", help="Tasks to run concurrently.")
    ] = None,
    capabilities: Capabilities = None,
    pipelines: Pipelines = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            envvar="REEL_SERVER_URL",
            metavar="URL",
            help="Work for this server, without a database or shared folder; needs --key-file or REEL_SERVER_KEY.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            envvar="REEL_SERVER_KEY_FILE",
            metavar="FILE",
            help="The file with the key for the server.",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Allow the key to be sent over plain http:// to another machine.")
    ] = False,
    keeper: Annotated[bool, typer.Option(help="Also run a keeper; one of several is the leader.")] = True,
) -> None:
    """Claim tasks and run them until stopped.

    SIGINT (ctrl-C) or SIGTERM lets running tasks finish within the grace period; a second signal releases them.

    It runs `transcode` and the pipelines of --app; --pipelines selects some. With --server and --key-file it works for
    a remote server, and needs neither a database nor a shared folder.

    Example: `reel worker --app pipelines:thumbs --concurrency 8`
    """
    settings = from_environment(
        os.environ,
        app=app,
        database_url=database,
        worker_name=name,
        worker_concurrency=concurrency,
        worker_capabilities=capabilities,
        worker_pipelines=pipelines,
        server_url=server,
        server_key_file=None if key_file is None else str(key_file),
    )
    set_up_logging(settings)
    if settings.server_url:
        _require_server(settings, insecure=insecure)
    chosen = select_pipelines(settings)
    os.environ.pop(variable("server_key"), None)  # hide it from processes that a handler starts
    try:
        asyncio.run(_run_worker(settings, chosen, keeper=keeper))
    except asyncio.CancelledError:
        print_status("stopped before the database was reachable")


async def _run_worker(settings: Settings, pipelines: Sequence[Pipeline], *, keeper: bool) -> None:
    """Run the worker, and exit even if a handler does not stop: its task is released, others may run it."""
    _stop_early_on_stdin()
    try:
        with metered(settings, handlers=True) as metrics:
            if settings.server_url:
                await _work_remotely(settings, pipelines, metrics)
            else:
                await _work(settings, pipelines, metrics, keeper=keeper)
    finally:
        if not await _has_finished(settings.worker_kill_after):
            print_status("a handler does not stop; exiting without it")
            _exit_now(sys.exc_info()[1])


async def _work(settings: Settings, pipelines: Sequence[Pipeline], metrics: Metrics, *, keeper: bool) -> None:
    url = settings.database_url
    async with open_engine(url, pipelines=pipelines, settings=settings, **store_options(url)) as engine:
        await confine_tools(engine, pipelines, settings)
        found = worker_for(engine, pipelines, settings)
        metrics.add_reading(partial(read_engine, engine))
        metrics.add_reading(partial(read_worker, found))
        _handle_signals(found)
        freeze_garbage()
        beside = [asyncio.create_task(keep_tools_confined(engine, pipelines, settings))]
        if keeper:
            beside.append(asyncio.create_task(keeper_for(engine, settings).run()))
        names = ", ".join(pipeline.name for pipeline in pipelines)
        print_status(f"worker {found.settings.name}: {names}; concurrency {found.settings.concurrency}")
        try:
            await found.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
    print_status(f"worker {found.settings.name} stopped; {describe_leases(found)}")


async def _work_remotely(settings: Settings, pipelines: Sequence[Pipeline], metrics: Metrics) -> None:
    async with remote_worker(pipelines, settings) as found:
        metrics.add_reading(partial(read_worker, found))
        _handle_signals(found)
        names = ", ".join(pipeline.name for pipeline in pipelines)
        print_status(f"remote worker of {settings.server_url}: {names}; concurrency {found.settings.concurrency}")
        await found.run()
    print_status(f"the remote worker stopped; {describe_leases(found)}")


def describe_leases(stopped: WorkerLoop) -> str:
    """Describe the tasks that stay leased to a stopped worker."""
    leased = [str(key) for key in stopped.still_leased]
    if leased:
        return f"the store was unreachable; these tasks stay leased until their leases expire: {', '.join(leased)}"
    if stopped.claim_unanswered:
        return "its last claim got no response; tasks that it leased stay leased until their leases expire"
    return "no tasks are leased"


def _require_server(settings: Settings, *, insecure: bool) -> None:
    """Refuse a URL that a key must not be sent to, and a worker without a key."""
    from reelstate.remote.server import require_secure_url  # noqa: PLC0415 - httpx is slow to load

    require_secure_url(settings.server_url, insecure=insecure)
    if not (settings.server_key or settings.server_key_file):
        raise InvalidRequest(
            "server_key",
            "a remote worker needs a key of `reel workers register`",
            hint="pass its file with --key-file, or set REEL_SERVER_KEY",
        )


async def _has_finished(seconds: float) -> bool:
    """Return whether every task and thread that keeps this process alive finished in time."""
    left: set[asyncio.Task[Any]] = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    left.add(asyncio.create_task(asyncio.get_running_loop().shutdown_default_executor()))
    _, unfinished = await asyncio.wait(left, timeout=seconds)
    threads = [thread for thread in threading.enumerate() if not thread.daemon]
    return not unfinished and threads == [threading.main_thread()]


def _exit_now(error: BaseException | None) -> None:
    if error is not None:
        traceback.print_exception(error)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0 if error is None else 1)


def _stop_early_on_stdin() -> None:
    """Cancel the start when `reel up` sends any command or exits."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(sys.stdin.fileno())
        if task is not None:
            task.cancel()

    if SUPERVISED in os.environ:
        loop.add_reader(sys.stdin.fileno(), stop)


def _handle_signals(found: WorkerLoop) -> None:
    loop = asyncio.get_running_loop()
    if SUPERVISED in os.environ:
        _handle_supervisor(found)
    else:
        for number in stop_signals():
            loop.add_signal_handler(number, found.stop)


def _handle_supervisor(found: WorkerLoop) -> None:
    """Handle signals once: under `reel up` a signal reaches all processes, and `up` sends the second stop."""
    loop = asyncio.get_running_loop()
    stops = iter([found.stop])

    def stop_once() -> None:
        next(stops, lambda: None)()

    def read_command() -> None:
        command = os.read(sys.stdin.fileno(), 1)
        stop_once()
        if command != STOP:
            loop.remove_reader(sys.stdin.fileno())
            found.stop()

    for number in stop_signals():
        loop.add_signal_handler(number, stop_once)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop.add_reader(sys.stdin.fileno(), read_command)
