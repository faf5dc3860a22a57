"""The two queues of hints, on a real Redis and without a store."""

import random
from collections.abc import AsyncIterator, Collection

import pytest

from reelstate.connections.redis import RedisClient, RedisSettings, open_redis
from reelstate.core.model import TaskKey
from reelstate.dispatch.hint_queue import HintQueue, key_of, member, score
from reelstate.dispatch.hints import ChannelMessage, Hint, Lane, MirrorSource, ReadyTask
from reelstate.dispatch.mirror import Mirror
from reelstate.dispatch.redis import QUEUES
from tests.waiting import until

OURS = Lane("ours", frozenset(), frozenset())
GPU = Lane("ours", frozenset({"gpu"}), frozenset())
JOB = 400_000_000 << 22
"""An id as jobs have."""


def waiting(number: int, priority: int = 5, *, stage: int = 0, part: int = 0, lane: int = 1) -> ReadyTask:
    return ReadyTask(TaskKey(JOB + number, stage, part), priority, lane, GPU if abs(lane) == 2 else OURS)


@pytest.fixture
async def redis(redis_settings: RedisSettings) -> AsyncIterator[RedisClient]:
    async with open_redis(redis_settings) as redis:
        yield redis


@pytest.fixture(params=QUEUES)
async def queue(request: pytest.FixtureRequest, redis: RedisClient) -> HintQueue:
    """Each of them in turn, marked as filled."""
    made = QUEUES[request.param](redis)
    await made.mark()
    return made


@pytest.fixture
async def sorted_queue(redis: RedisClient) -> HintQueue:
    made = QUEUES["sorted"](redis)
    await made.mark()
    return made


async def taken(queue: HintQueue, count: int = 10, lanes: tuple[int, ...] = (1,)) -> list[TaskKey]:
    return [hint.key for hint in (await queue.take(lanes, count)).hints]


async def test_what_is_added_is_counted_seen_and_handed_out_once(queue: HintQueue) -> None:
    tasks = [waiting(number) for number in range(5)]
    assert await queue.add(tasks) == 5
    assert await queue.size() == 5
    assert await queue.peek(3) == [each.key for each in tasks[:3]]
    assert await taken(queue, 2) == [each.key for each in tasks[:2]]
    assert await taken(queue) == [each.key for each in tasks[2:]]
    assert await taken(queue) == []
    assert await queue.size() == 5, "until it is known what became of them"


async def test_what_was_claimed_is_gone_and_what_was_not_comes_back_at_once(queue: HintQueue) -> None:
    await queue.add([waiting(number) for number in range(4)])
    hints = (await queue.take([1], 4)).hints
    await queue.settle(gone=hints[:2], back=hints[2:])
    assert await queue.size() == 2
    assert sorted(await taken(queue)) == [hint.key for hint in hints[2:]]


async def test_hints_that_another_worker_has_taken_are_not_handed_out(queue: HintQueue, redis: RedisClient) -> None:
    other = type(queue)(redis)
    queue.taken_milliseconds = other.taken_milliseconds = 3_600_000
    await queue.add([waiting(1)])
    assert await taken(queue) == [waiting(1).key]
    assert await taken(other) == []


async def test_hints_of_a_worker_that_died_before_its_claim_are_handed_out_again(
    queue: HintQueue, redis: RedisClient
) -> None:
    other = type(queue)(redis)
    queue.taken_milliseconds = other.taken_milliseconds = 100
    await queue.add([waiting(1)])
    assert await taken(queue) == [waiting(1).key]
    assert await until(lambda: taken(other)) == [waiting(1).key]


async def test_what_is_added_again_is_there_once(queue: HintQueue) -> None:
    for _ in range(3):
        await queue.add([waiting(1), waiting(2)])
    assert await queue.size() == 2
    assert await taken(queue) == [waiting(1).key, waiting(2).key]


async def test_a_task_that_is_ready_again_before_its_claim_was_settled_is_not_forgotten(queue: HintQueue) -> None:
    await queue.add([waiting(1)])
    hints = (await queue.take([1], 1)).hints
    await queue.add([waiting(1)])  # claimed, given back and offered again
    await queue.settle(gone=hints)
    assert await taken(queue) == [waiting(1).key]


async def test_a_priority_that_changed_moves_the_task(queue: HintQueue) -> None:
    await queue.add([waiting(1, 5), waiting(2, 5)])
    await queue.add([waiting(2, 9)])
    assert await queue.size() == 2
    assert await taken(queue) == [waiting(2).key, waiting(1).key]


async def test_a_worker_is_handed_nothing_that_it_can_not_run(queue: HintQueue) -> None:
    await queue.add([waiting(1, 10, lane=2), waiting(2, 0)])
    assert await taken(queue) == [waiting(2).key]
    assert await taken(queue, lanes=(1, 2)) == [waiting(1).key]
    assert (await queue.lanes()) == {1: OURS, 2: GPU}


async def test_isolated_tasks_are_reported_but_not_handed_out(queue: HintQueue) -> None:
    await queue.add([waiting(1), waiting(2, lane=-1)])
    answer = await queue.take([1], 5)
    assert answer.has_isolated
    assert answer.hints == []
    await queue.remove([waiting(2).key])
    assert await taken(queue) == [waiting(1).key]


async def test_what_is_removed_is_not_handed_out_wherever_it_was(queue: HintQueue) -> None:
    await queue.add([waiting(number) for number in range(4)])
    await queue.take([1], 1)
    await queue.remove([waiting(0).key, waiting(2).key, waiting(99).key])
    assert await queue.size() == 2
    assert await taken(queue) == [waiting(1).key, waiting(3).key]


async def test_a_mirror_that_was_never_filled_or_was_flushed_has_no_epoch(queue: HintQueue, redis: RedisClient) -> None:
    await queue.add([waiting(1)])
    assert (await queue.take([1], 1)).epoch
    await queue.clear()
    assert await redis.client.keys(f"{redis.key()}*") == []
    assert (await queue.take([1], 1)).epoch == ""


async def test_beyond_its_horizon_nothing_is_kept(queue: HintQueue) -> None:
    await queue.set_horizon(waiting(5, 5))
    await queue.add([waiting(4, 5), waiting(5, 5), waiting(6, 5), waiting(1, 4), waiting(9, 6)])
    answer = await queue.take([1], 10)
    assert answer.is_cut
    assert sorted(hint.key for hint in answer.hints) == [waiting(4).key, waiting(5).key, waiting(9).key]
    await queue.set_horizon(None)
    assert (await queue.take([1], 1)).epoch == "", "what it kept out is missing until it is filled again"
    await queue.mark()
    assert not (await queue.take([1], 1)).is_cut


async def test_while_busy_nothing_is_kept_and_every_claim_asks_the_store(queue: HintQueue, redis: RedisClient) -> None:
    other = type(queue)(redis)
    await queue.add([waiting(1)])
    await queue.set_busy()
    assert (queue.is_busy, other.is_busy) == (True, False), "until it makes a call"
    assert await other.add([waiting(2)]) == 0
    assert other.is_busy
    answer = await queue.take([1], 10)
    assert (answer.hints, answer.is_cut) == ([], True)
    assert await queue.busy_periods() is None
    assert not await queue.may_fill(10), "not while busy"
    await redis.client.pexpire(redis.key(queue.kind, "busy"), 1)
    await _wait_until_not_busy(queue)
    assert await queue.may_fill(0), "the horizon is before every task"


async def test_a_busy_period_during_a_comparison_is_noticed(queue: HintQueue, redis: RedisClient) -> None:
    busy_periods = await queue.busy_periods()
    assert busy_periods is not None
    await queue.set_busy()
    await redis.client.delete(redis.key(queue.kind, "busy"))
    await queue.set_horizon(None, busy_periods)
    await queue.mark()
    assert (await queue.take([1], 1)).is_cut, "what was ready meanwhile is not mirrored"
    again = await queue.busy_periods()
    assert again is not None
    await queue.set_horizon(None, again)
    await queue.mark()
    assert not (await queue.take([1], 1)).is_cut


async def _wait_until_not_busy(queue: HintQueue) -> None:
    async def is_known() -> bool:
        return await queue.busy_periods() is not None

    await until(is_known)


async def test_everything_that_is_there_can_be_listed(queue: HintQueue) -> None:
    await queue.add([waiting(1), waiting(2, lane=2), waiting(3, lane=-1), waiting(4, 9)])
    await queue.remove([waiting(3).key])
    await queue.take([1], 1)
    contents = await queue.contents()
    assert {hint.key for hint in contents.hints} == contents.positioned == {waiting(number).key for number in (1, 2, 4)}
    await queue.discard(contents.hints)
    after = await queue.contents()
    assert (after.hints, after.positioned) == ([], set())


async def test_ten_thousand_are_added_and_taken_in_batches(queue: HintQueue) -> None:
    tasks = [waiting(number) for number in range(10_000)]
    assert await queue.add(tasks) == 10_000
    assert len(await taken(queue, 5000)) == 5000
    assert await queue.size() == 10_000


async def test_the_sorted_queue_keeps_the_order_of_claims_exactly(sorted_queue: HintQueue) -> None:
    dice = random.Random(7)
    tasks = [
        waiting(number, dice.randrange(11), stage=stage, part=part, lane=dice.choice([1, 2]))
        for number in dice.sample(range(3 << 22), 300)  # over several seconds
        for stage, part in ((0, 0), (1, 0), (1, 9), (1, 10), (1, 200))
    ]
    dice.shuffle(tasks)
    await sorted_queue.add(tasks)
    expected = [each.key for each in sorted(tasks, key=lambda each: (-each.priority, each.key))]
    assert await sorted_queue.peek(10_000) == expected
    found: list[TaskKey] = []
    while some := await taken(sorted_queue, 37, lanes=(1, 2)):
        found += some
    assert found == expected


async def test_streams_give_high_before_normal_before_low(redis: RedisClient) -> None:
    queue = QUEUES["streams"](redis)
    await queue.mark()
    priorities = [3, 5, 10, 0, 6, 7, 4, 8]
    await queue.add([waiting(number, priority) for number, priority in enumerate(priorities)])
    found = [priorities[key.job_id - JOB] for key in await taken(queue)]
    assert found == [10, 7, 8, 5, 6, 3, 0, 4], "7 to 10, then 5 and 6, then 0 to 4, each as they came"


async def test_streams_are_emptied_and_not_only_read(redis: RedisClient) -> None:
    queue = QUEUES["streams"](redis)
    await queue.mark()
    await queue.add([waiting(number) for number in range(100)])
    await queue.settle(gone=(await queue.take([1], 100)).hints)
    stream = redis.key("streams", "lane", "1:normal")
    assert await redis.client.xlen(stream) == 0
    pending = await redis.client.xpending(stream, "workers")
    assert pending["pending"] == 0


async def test_unknown_hints_do_no_harm(queue: HintQueue) -> None:
    await queue.settle(gone=[Hint(waiting(1).key, 7, "7:high 0-1")], back=[Hint(waiting(2).key, 7, "7:high 0-2")])
    await queue.remove([waiting(3).key])
    assert await queue.size() == 0
    assert await taken(queue, lanes=(1, 7)) == []


def test_keys_survive_as_members_and_scores_fit_a_double() -> None:
    largest = TaskKey(2**53 - 1, 32_767, 2**31 - 1)
    assert key_of(member(largest)) == largest
    last = int(score(ReadyTask(largest, 0, 1, OURS)))
    assert float(last) == last < 2**53


async def test_a_task_added_again_while_the_mirror_is_compared_stays(queue: HintQueue) -> None:
    task = waiting(1)
    await queue.add([task])
    assert await taken(queue) == [task.key]

    async def ready(job_ids: Collection[int] | None, limit: int) -> list[ReadyTask]:
        await queue.add([task])  # its worker gives it back right after the store reported it as claimed
        return []

    async def messages(job_ids: Collection[int]) -> list[ChannelMessage]:
        return []

    await Mirror(queue, 10).reconcile(MirrorSource(ready, messages), ("channel", ""))
    assert await taken(queue) == [task.key]
