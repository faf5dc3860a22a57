"""Every test of the suite ends with a look at every invariant."""

from collections.abc import AsyncIterator

import pytest

from reelstate.services.engine import Engine


@pytest.fixture(autouse=True)
async def healthy(engine: Engine) -> AsyncIterator[None]:
    """Whatever a test did to the store, doctor finds nothing wrong with it afterwards."""
    yield
    diagnosis = await engine.doctor()
    assert diagnosis.findings == ()
