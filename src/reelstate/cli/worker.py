"""`reel worker`: run tasks in this process until told to stop."""

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
from pathlib import Path
from typing import Annotated, Any

import typer

from reelstate.app import confine_tools, keep_tools_confined, keeper_for, open_engine, remote_worker, worker_for
from reelstate.cli.application import select_pipelines
from reelstate.cli.options import App, Capabilities, Database, Pipelines
from reelstate.cli.process import SUPERVISED, freeze_garbage, print_status, set_up_logging, stop_signals, store_options
from reelstate.config import Settings, from_environment, variable
from reelstate.core.errors import InvalidRequest
from reelstate.pipelines.declaration import Pipeline
from reelstate.worker.loop import WorkerLoop

STOP, STOP_NOW = b"s", b"h"
"""What it says there: finish within the grace; give back at once. Its end means the latter."""


def worker(
    app: App = None,
    database: Database = None,
    name: Annotated[str | None, typer.Option(help="The name people read; the host's name when left out.")] = None,
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", "-c", metavar="COUNT", help="Tasks that run at once.")
    ] = None,
    capabilities: Capabilities = None,
    pipelines: Pipelines = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            envvar="REEL_SERVER_URL",
            metavar="URL",
            help="Work for this server, without a database or a shared folder. The key: --key-file or REEL_SERVER_KEY.",
        ),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            envvar="REEL_SERVER_KEY_FILE",
            metavar="FILE",
            help="The file that holds the key for the server.",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let the key go over plain http:// to another machine.")
    ] = False,
    keeper: Annotated[
        bool, typer.Option(help="Also run the keeper's loop; leadership sees to it that one works.")
    ] = True,
) -> None:
    """Claim tasks and run them until stopped. Ctrl-C or SIGTERM: finish within the grace; twice: give them back.

    It runs the pipeline `transcode`, and yours if you name them; --pipelines chooses among them. With
    --server and --key-file it works for a server far away, and needs neither a database nor a shared folder.

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
    os.environ.pop(variable("server_key"), None)  # what a handler starts has no business with it
    try:
        asyncio.run(_worked(settings, chosen, keeper=keeper))
    except asyncio.CancelledError:
        print_status("told to stop before there was a database")


async def _worked(settings: Settings, pipelines: Sequence[Pipeline], *, keeper: bool) -> None:
    """Work, and end this process even if a handler does not: what it ran is given back, others may run it by now."""
    _heed_supervisor_early()
    try:
        if settings.server_url:
            await _work_remotely(settings, pipelines)
        else:
            await _work(settings, pipelines, keeper=keeper)
    finally:
        if not await _nothing_left(settings.worker_kill_after):
            print_status("a handler does not stop; this process ends without it")
            _end_at_once(sys.exc_info()[1])


async def _work(settings: Settings, pipelines: Sequence[Pipeline], *, keeper: bool) -> None:
    url = settings.database_url
    async with open_engine(url, pipelines=pipelines, settings=settings, **store_options(url)) as engine:
        await confine_tools(engine, pipelines, settings)
        found = worker_for(engine, pipelines, settings)
        _heed_signals(found)
        freeze_garbage()
        beside = [asyncio.create_task(keep_tools_confined(engine, pipelines, settings))]
        if keeper:
            beside.append(asyncio.create_task(keeper_for(engine, settings).run()))
        names = ", ".join(pipeline.name for pipeline in pipelines)
        print_status(f"worker {found.settings.name}: {names}; {found.settings.concurrency} at once")
        try:
            await found.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
    print_status(f"worker {found.settings.name} has stopped; {describe_leases(found)}")


async def _work_remotely(settings: Settings, pipelines: Sequence[Pipeline]) -> None:
    async with remote_worker(pipelines, settings) as found:
        _heed_signals(found)
        names = ", ".join(pipeline.name for pipeline in pipelines)
        print_status(f"remote worker of {settings.server_url}: {names}; {found.settings.concurrency} at once")
        await found.run()
    print_status(f"the remote worker has stopped; {describe_leases(found)}")


def describe_leases(stopped: WorkerLoop) -> str:
    """What the store still counts as a stopped worker's, as a clause of a message."""
    kept = [str(key) for key in stopped.still_leased]
    if kept:
        return f"the store could not be told, and these tasks stay leased until their leases expire: {', '.join(kept)}"
    if stopped.claim_unanswered:
        return "its last claim was not answered: tasks that it leased, if any, stay leased until their leases expire"
    return "it holds nothing"


def _require_server(settings: Settings, *, insecure: bool) -> None:
    """Refuse an address that a key should not be sent to, and a worker without one."""
    from reelstate.remote.server import require_secure_url  # noqa: PLC0415 - httpx is slow to load

    require_secure_url(settings.server_url, insecure=insecure)
    if not (settings.server_key or settings.server_key_file):
        raise InvalidRequest(
            "server_key",
            "a remote worker needs the key that `reel workers register` gave",
            hint="put it into a file and name that with --key-file, or into REEL_SERVER_KEY",
        )


async def _nothing_left(seconds: float) -> bool:
    """Whether every task and thread that would keep this process alive came to its end in time."""
    left: set[asyncio.Task[Any]] = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    left.add(asyncio.create_task(asyncio.get_running_loop().shutdown_default_executor()))
    _, unfinished = await asyncio.wait(left, timeout=seconds)
    threads = [thread for thread in threading.enumerate() if not thread.daemon]
    return not unfinished and threads == [threading.main_thread()]


def _end_at_once(error: BaseException | None) -> None:
    if error is not None:
        traceback.print_exception(error)
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(0 if error is None else 1)


def _heed_supervisor_early() -> None:
    """While there is no worker yet, whatever `reel up` says, or its end, means that none is needed."""
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(sys.stdin.fileno())
        if task is not None:
            task.cancel()

    if SUPERVISED in os.environ:
        loop.add_reader(sys.stdin.fileno(), stop)


def _heed_signals(found: WorkerLoop) -> None:
    loop = asyncio.get_running_loop()
    if SUPERVISED in os.environ:
        _heed_supervisor(found)
    else:
        for number in stop_signals():
            loop.add_signal_handler(number, found.stop)


def _heed_supervisor(found: WorkerLoop) -> None:
    """Under `reel up` a signal may reach all its processes at once. It counts once: only `up` says it a second time."""
    loop = asyncio.get_running_loop()
    told = iter([found.stop])

    def stop_once() -> None:
        next(told, lambda: None)()

    def hear() -> None:
        said = os.read(sys.stdin.fileno(), 1)
        stop_once()
        if said != STOP:
            loop.remove_reader(sys.stdin.fileno())
            found.stop()

    for number in stop_signals():
        loop.add_signal_handler(number, stop_once)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loop.add_reader(sys.stdin.fileno(), hear)
