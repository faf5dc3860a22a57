"""A receiver, and an engine whose webhooks may reach it."""

from collections.abc import AsyncIterator, Callable

import pytest

from reelstate.app import open_engine
from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.sender import Sender, SenderSettings
from reelstate.services.webhooks.event_types import event_types
from tests.engines import FAN, SIMPLE, FakeClock
from tests.webhooks.receiver import Receiver

MakeSender = Callable[..., Sender]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver.running() as receiver:
        yield receiver


@pytest.fixture
async def engine(database_url: str, clock: FakeClock) -> AsyncIterator[Engine]:
    """An engine on each store in turn; webhooks may address loopback."""
    settings = Settings(database_url=database_url, webhook_allow="127.0.0.1,localhost")
    async with open_engine(
        database_url, pipelines=[SIMPLE, FAN], settings=settings, clock=clock, migrate=False
    ) as engine:
        yield engine


@pytest.fixture
def make_sender(engine: Engine) -> MakeSender:
    def make(**settings: object) -> Sender:
        terms = SenderSettings(**{"timeout": 20.0, **settings})  # type: ignore[arg-type]  # the fields of the record
        return Sender(engine.store, event_types(engine.extension), engine.callbacks, terms)

    return make


@pytest.fixture
def sender(make_sender: MakeSender) -> Sender:
    return make_sender()
