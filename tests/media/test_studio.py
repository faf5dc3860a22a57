import asyncio
from typing import Any

import pytest

from reelstate.media import studio
from reelstate.media.studio import telling


class Listener:
    """What a task would be told, in place of one that runs."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()

    def note(self, percent: float | None = None, message: str | None = None, **_: Any) -> None:
        assert percent is None, "how far it is stays as it was"
        self.heard.put_nowait(message or "")


async def test_what_takes_long_is_told_again_and_again_until_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studio, "TELL_EVERY", 0.01)
    listener: Any = Listener()
    async with asyncio.timeout(5), telling(listener, "storing"):
        told = [await listener.heard.get() for _ in range(3)]
        assert all(words.startswith("storing") for words in told)
        assert len(set(told)) == 3, "the same words again would be no progress"
    before = listener.heard.qsize()
    await asyncio.sleep(0.05)
    assert listener.heard.qsize() == before
