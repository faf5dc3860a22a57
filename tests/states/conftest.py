from collections.abc import AsyncIterator

import pytest

from reelstate.states.memory import MemoryStore
from reelstate.states.state_store import StateStore


@pytest.fixture(params=["memory"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StateStore]:
    """One store of each kind."""
    made = MemoryStore()
    yield made
    await made.close()
