"""Tests wait for signals: what sleeps gives its reason, and the helpers return what they waited for."""

import asyncio
import re
import threading
from pathlib import Path

import pytest

from tests.waiting import let_others_run, until, until_true

TESTS = Path(__file__).parent
SLEEP = re.compile(r"\bsleep\(.*\)(?!.*  # )")
OURS = {"waiting.py", "test_waiting.py"}


def test_every_sleep_has_its_reason_beside_it() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{number}: {line.strip()}"
        for path in sorted(TESTS.rglob("*.py"))
        if path.name not in OURS
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if SLEEP.search(line)
    ]
    assert found == [], "wait for a signal, with tests.waiting.until, or give the reason in a comment"


async def test_until_returns_the_first_true_answer_of_a_function_and_of_a_coroutine() -> None:
    answers = iter([0, None, 7])
    assert await until(lambda: next(answers)) == 7
    more = iter([False, "yes"])

    async def ask() -> object:
        return next(more)

    assert await until(ask) == "yes"
    event = threading.Event()
    threading.Timer(0, event.set).start()
    assert until_true(event.is_set)


async def test_a_wait_that_times_out_names_what_it_waited_for() -> None:
    with pytest.raises(AssertionError, match="the row is there: not within 0 s"):
        await until(lambda: False, "the row is there", seconds=0)
    with pytest.raises(AssertionError, match="the row is there: not within 0 s"):
        until_true(lambda: False, "the row is there", seconds=0)


async def test_other_tasks_run_up_to_their_next_wait() -> None:
    seen: list[int] = []

    async def count() -> None:
        for number in range(3):
            seen.append(number)
            await let_others_run()

    task = asyncio.create_task(count())
    await let_others_run(2)
    assert seen == [0, 1]
    await task
