"""The public surface in nouns: `await reel.jobs.cancel(7)`, and the same without `await` after `rs.connect`."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ParamSpec, Self, TypeVar, cast

from reelstate.app import open_engine
from reelstate.config import DEFAULTS, Settings
from reelstate.engine import Engine
from reelstate.library import videos
from reelstate.runtime.loop_thread import LoopThread
from reelstate.runtime.verbs import CallerLoop, L, Noun, Stream, Verb
from reelstate.services import keys
from reelstate.services.limits import limits
from reelstate.services.schedules import schedules
from reelstate.services.webhooks import subscriptions as webhooks

P = ParamSpec("P")
R = TypeVar("R")


class Jobs(Noun[L]):
    """Submit, read, follow and operate jobs."""

    submit = Verb(Engine.submit)
    submit_many = Verb(Engine.submit_many)
    get = Verb(Engine.job)
    list = Verb(Engine.jobs)
    why = Verb(Engine.why)
    suggestions = Verb(Engine.suggestions)
    count = Verb(Engine.count_jobs)
    queue = Verb(Engine.queue)
    watch = Stream(Engine.watch)
    wait = Verb(Engine.wait)
    cancel = Verb(Engine.cancel)
    cancel_many = Verb(Engine.cancel_many)
    retry = Verb(Engine.retry)
    retry_many = Verb(Engine.retry_many)
    reprioritise = Verb(Engine.reprioritise)
    reprioritise_many = Verb(Engine.reprioritise_many)
    quarantine = Verb(Engine.quarantine)
    quarantine_many = Verb(Engine.quarantine_many)
    force = Verb(Engine.force)
    force_many = Verb(Engine.force_many)
    tasks = Verb(Engine.tasks)
    results = Verb(Engine.results)
    history = Verb(Engine.history)
    logs = Verb(Engine.logs)
    steps = Verb(Engine.steps)
    stage_names = Verb(Engine.stage_names)
    graph = Verb(Engine.graph)


class Groups(Noun[L]):
    """List groups of jobs, and operate all jobs of one."""

    get = Verb(Engine.group)
    list = Verb(Engine.groups)
    cancel = Verb(Engine.cancel_group)
    retry = Verb(Engine.retry_group)


class Videos(Noun[L]):
    """Submit videos, and choose which version of one plays."""

    submit = Verb(videos.Videos.submit)
    retranscode = Verb(videos.Videos.retranscode)
    get = Verb(videos.Videos.get)
    list = Verb(videos.Videos.list)
    pin = Verb(videos.Videos.pin)
    unpin = Verb(videos.Videos.unpin)
    rollback = Verb(videos.Videos.rollback)
    delete = Verb(videos.Videos.delete)
    restore = Verb(videos.Videos.restore)


class Workers(Noun[L]):
    """Register remote workers, list workers, and control them by their name."""

    register = Verb(keys.Keys.register_worker, target="_keys")
    list = Verb(Engine.workers)
    names = Verb(Engine.worker_names)
    history = Verb(Engine.worker_history)
    drain = Verb(Engine.drain)
    enable = Verb(Engine.enable)
    disable = Verb(Engine.disable)
    revoke = Verb(Engine.revoke)
    move = Verb(Engine.move_worker)

    def __init__(self, engine: Engine, loop: L, key_store: keys.Keys) -> None:
        super().__init__(engine, loop)
        self._keys = key_store


class Pipelines(Noun[L]):
    """Declare pipelines, and choose which version new jobs run."""

    declare = Verb(Engine.declare)
    list = Verb(Engine.pipelines)
    use = Verb(Engine.use_pipeline)


class States(Noun[L]):
    """Read the states that tasks report per tag."""

    get = Verb(Engine.states)
    manager = Verb(Engine.state_manager)


class Events(Noun[L]):
    """Read and follow every transition of the store."""

    list = Verb(Engine.events)
    head = Verb(Engine.head)
    subscribe = Stream(Engine.subscribe)


class Archive(Noun[L]):
    """Move finished jobs to the archive, and list and delete its months. `jobs.list(archived=True)` lists its jobs."""

    run = Verb(Engine.archive)
    months = Verb(Engine.archive_months)
    drop = Verb(Engine.drop_month)


class Keys(Noun[L]):
    """Manage the API keys of people and remote workers."""

    create = Verb(keys.Keys.create)
    list = Verb(keys.Keys.all)
    rotate = Verb(keys.Keys.rotate)
    revoke = Verb(keys.Keys.revoke)


class Webhooks(Noun[L]):
    """Subscribe to events, and inspect their deliveries."""

    add = Verb(webhooks.Webhooks.add)
    list = Verb(webhooks.Webhooks.all)
    get = Verb(webhooks.Webhooks.get)
    update = Verb(webhooks.Webhooks.update)
    remove = Verb(webhooks.Webhooks.remove)
    rotate = Verb(webhooks.Webhooks.rotate)
    deliveries = Verb(webhooks.Webhooks.deliveries)
    redeliver = Verb(webhooks.Webhooks.redeliver)


class Schedules(Noun[L]):
    """Submit jobs at given times, and inspect, pause, trigger and backfill schedules."""

    create = Verb(schedules.Schedules.create)
    list = Verb(schedules.Schedules.all)
    get = Verb(schedules.Schedules.get)
    update = Verb(schedules.Schedules.update)
    pause = Verb(schedules.Schedules.pause)
    resume = Verb(schedules.Schedules.resume)
    trigger = Verb(schedules.Schedules.trigger)
    backfill = Verb(schedules.Schedules.backfill)
    delete = Verb(schedules.Schedules.delete)


class Limits(Noun[L]):
    """Limit how many tasks run at once or start in a period, and let users or other keys take turns."""

    set = Verb(limits.Limits.set)
    list = Verb(limits.Limits.all)
    get = Verb(limits.Limits.get)
    remove = Verb(limits.Limits.remove)


class Nouns(Noun[L]):
    """The nouns, and the verbs that are used most."""

    submit = Verb(Engine.submit)
    watch = Stream(Engine.watch)
    wait = Verb(Engine.wait)
    group = Verb(Engine.group)
    doctor = Verb(Engine.doctor)
    pause = Verb(Engine.pause)
    resume = Verb(Engine.resume)
    pauses = Verb(Engine.pauses)
    keepers = Verb(Engine.keepers)
    ready = Verb(Engine.ready)

    def __init__(self, engine: Engine, loop: L, settings: Settings) -> None:
        super().__init__(engine, loop)
        key_store = keys.Keys(engine.store, pepper=settings.key_pepper)
        self.jobs = Jobs(engine, loop)
        self.groups = Groups(engine, loop)
        self.videos = Videos(videos.Videos(engine), loop)
        self.workers = Workers(engine, loop, key_store)
        self.pipelines = Pipelines(engine, loop)
        self.states = States(engine, loop)
        self.events = Events(engine, loop)
        self.archive = Archive(engine, loop)
        self.keys = Keys(key_store, loop)
        self.webhooks = Webhooks(engine.webhooks, loop)
        self.schedules = Schedules(engine.schedules, loop)
        self.limits = Limits(engine.limits, loop)


class Reel(Nouns[CallerLoop]):
    """A store and the verbs on it, for programs with an event loop. `engine` has those of workers and keepers."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__(engine, CallerLoop(), settings)
        self.engine = engine


class BlockingReel(Nouns[LoopThread]):
    """A store and the verbs on it, for programs without an event loop: each call returns its result.

    Use it with `with`, or close it. It has one event loop in a thread of its own; any thread may call.
    """

    def __init__(self, opening: AbstractAsyncContextManager[Engine], settings: Settings) -> None:
        thread = LoopThread()
        self._engine = thread.open(opening)
        super().__init__(self._engine, thread, settings)

    def run(self, call: Callable[[Engine], Coroutine[Any, Any, R]]) -> R:
        """Run a coroutine function that takes the engine, and return its result. An interrupt cancels it."""
        return self._loop.run(lambda: call(self._engine))

    def close(self) -> None:
        """Cancel calls in progress, close the engine and wait for that."""
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _async(opening: Callable[P, AbstractAsyncContextManager[Engine]]) -> Callable[P, AbstractAsyncContextManager[Reel]]:
    @functools.wraps(opening)
    @asynccontextmanager
    async def open_reel(*arguments: P.args, **options: P.kwargs) -> AsyncIterator[Reel]:
        async with opening(*arguments, **options) as engine:
            yield Reel(engine, _settings(options))

    return open_reel


def _blocking(opening: Callable[P, AbstractAsyncContextManager[Engine]]) -> Callable[P, BlockingReel]:
    @functools.wraps(opening)
    def connect(*arguments: P.args, **options: P.kwargs) -> BlockingReel:
        return BlockingReel(opening(*arguments, **options), _settings(options))

    return connect


def _settings(options: Mapping[str, object]) -> Settings:
    return cast("Settings | None", options.get("settings")) or DEFAULTS


open_reel = _async(open_engine)
connect = _blocking(open_engine)
