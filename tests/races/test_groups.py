"""Jobs end at the same moment in many processes, and keepers race: a job starts once, a group has one callback."""

import pytest

from reelstate.core.errors import InvalidRequest
from reelstate.core.group import Group
from reelstate.core.machine import JobStatus
from reelstate.core.model import Completion, Submission, TaskKey, Verdict
from tests.engines import a_worker, engine_at
from tests.races.racing_processes import SIZE, RacingProcesses, start

CALLBACK = "https://example.com/finished"


async def complete_and_keep(url: str, held: list[list[tuple[TaskKey, int]]], number: int, parties: int) -> list[int]:
    """Complete a job of each round at the same moment as the others, then look for what may start, as every keeper."""
    async with engine_at(url) as engine:
        started = []
        for tasks in held:
            start(parties)
            key, token = tasks[number]
            assert await engine.complete([Completion(key=key, token=token)]) == [Verdict.OK]
            await engine.orchestrate()
            started.append((await engine.orchestrate()).ready)
        return started


async def started_once(url: str, racers: RacingProcesses, *, rounds: int) -> None:
    async with engine_at(url) as engine:
        waiting, held = [], []
        worker = await a_worker(engine)
        for number in range(rounds):
            name = f"g{number}"
            jobs = await engine.submit_many([Submission(pipeline="simple", group=name, group_callback=CALLBACK)] * SIZE)
            tasks = (await engine.claim(worker, SIZE)).tasks
            held.append([(task.key, task.token) for task in tasks])
            after: list[int | Group] = [Group(name), *(each.job_id for each in jobs)]
            waiting.append((await engine.submit("simple", after=after)).job_id)
        racers.all(complete_and_keep, url, held)
        await engine.orchestrate()
        for job_id in waiting:
            events = (await engine.history(job_id)).items
            assert [event.target for event in events if event.entity == "stage"] == ["opened"]
        assert sorted(task.key.job_id for task in (await engine.claim(worker, 1000)).tasks) == waiting
        assert {(group.status, group.round) for group in (await engine.groups()).items} == {("completed", 1)}
        (callbacks,) = await engine.webhooks.all()
        sent = (await engine.webhooks.deliveries(callbacks.id, limit=1000)).items
        assert [each.type for each in sent] == ["group.finished"] * rounds
        assert (await engine.doctor()).findings == ()


async def test_a_waiting_job_starts_once_and_a_group_has_one_callback(url: str, racers: RacingProcesses) -> None:
    await started_once(url, racers, rounds=12)


@pytest.mark.prove
async def test_a_waiting_job_starts_once_over_many_rounds(url: str, racers: RacingProcesses) -> None:
    await started_once(url, racers, rounds=300)


async def submit_both_ways(url: str, number: int, parties: int) -> list[bool]:
    """Wait for the group that another process joins, and join the one that it waits for."""
    async with engine_at(url) as engine:
        accepted = []
        for round_number in range(10):
            names = [f"c{round_number}-{each}" for each in range(parties)]
            start(parties)
            try:
                await engine.submit("simple", group=names[number], after=[Group(names[number - 1])])
                accepted.append(True)
            except InvalidRequest:
                accepted.append(False)
        return accepted


async def test_two_submissions_do_not_close_a_cycle(url: str, racers: RacingProcesses) -> None:
    async with engine_at(url) as engine:
        for round_number in range(10):
            for number in range(SIZE):
                await engine.submit("simple", group=f"c{round_number}-{number}")
        answers = racers.all(submit_both_ways, url)
        for accepted in zip(*answers, strict=True):
            assert accepted.count(False) == 1, "all but one of a ring of jobs are added"
        assert len((await engine.jobs(statuses=[JobStatus.PENDING], limit=1000)).items) == 10 * (2 * SIZE - 1)


async def end_while_another_waits(url: str, held: list[tuple[TaskKey, int]], number: int, parties: int) -> list[int]:
    """One process ends a job while the other submits a job that waits for it."""
    async with engine_at(url) as engine:
        made = []
        for key, token in held:
            start(parties)
            if number:
                made.append((await engine.submit("simple", after=[key.job_id])).job_id)
            else:
                await engine.complete([Completion(key=key, token=token)])
        return made


async def test_a_job_that_ends_while_another_begins_to_wait_starts_it(url: str, racers: RacingProcesses) -> None:
    rounds = 60
    async with engine_at(url) as engine:
        await engine.submit_many([Submission(pipeline="simple")] * rounds)
        worker = await a_worker(engine)
        held = [(task.key, task.token) for task in (await engine.claim(worker, rounds)).tasks]
        made = racers.race([(end_while_another_waits, (url, held, number, 2)) for number in range(2)])
        await engine.orchestrate()
        assert sorted(task.key.job_id for task in (await engine.claim(worker, 1000)).tasks) == sorted(made[1])
