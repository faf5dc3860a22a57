"""Engines on a Redis, for tests that look at its contents."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.core.model import TaskKey
from reelstate.dispatch.hints import ClaimFilter
from reelstate.dispatch.redis import RedisDispatch
from reelstate.engine import Engine
from tests.engines import FAN, PARTS, SIMPLE

ANYTHING = ClaimFilter(frozenset({"simple", "fan", "parts"}), frozenset())


def dispatch_of(engine: Engine) -> RedisDispatch:
    assert isinstance(engine.dispatch, RedisDispatch)
    return engine.dispatch


@asynccontextmanager
async def redis_engine(url: str, redis_url: str, **options: Any) -> AsyncIterator[Engine]:
    """An engine whose mirror is filled; options are settings."""
    given: dict[str, Any] = {"dispatch": "redis", "redis_url": redis_url, "redis_timeout": 5.0, **options}
    settings = Settings(database_url=url, **given)
    async with open_engine(url, pipelines=[SIMPLE, FAN, PARTS], settings=settings) as engine:
        await engine.mirror()
        yield engine


async def hinted(engine: Engine) -> set[TaskKey]:
    """Return the tasks that have a hint."""
    contents = await dispatch_of(engine).queue.contents()
    return {hint.key for hint in contents.hints}


class Statements:
    """Counts the calls of an engine to its store, by method."""

    def __init__(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counted: Counter[str] = Counter()
        for name in ("read", "write", "write_alone"):
            monkeypatch.setattr(engine.store, name, self._counting(name, getattr(engine.store, name)))

    def _counting(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        async def counted(*arguments: Any) -> Any:
            self.counted[name] += 1
            return await real(*arguments)

        return counted
