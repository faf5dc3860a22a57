"""`reel groups`, `reel group`, and the options of other commands that name groups."""

from reelstate.engine import Engine
from tests.cli.conftest import Reel
from tests.engines import a_worker, done, failed


async def nothing(_: Engine) -> None:
    """The store exists after this."""


async def complete_one_and_fail_one(engine: Engine) -> None:
    tasks = (await engine.claim(await a_worker(engine), 2)).tasks
    await engine.complete([done(tasks[0])])
    await engine.fail([failed(tasks[1], retryable=False)])
    await engine.orchestrate()


def submit(reel: Reel, *arguments: object) -> int:
    answer = reel("submit", "simple", *arguments, "--json")
    assert answer.code == 0, answer.stderr
    return int(answer.json["id"])


def test_a_group_is_submitted_shown_and_changed(reel: Reel) -> None:
    reel.engine(nothing)
    assert reel("groups").text == "no groups; `reel submit --group NAME` begins one"
    jobs = [submit(reel, "--group", "nightly", "--user", "ada") for _ in range(3)]
    last = submit(reel, "--user", "ada", "--after", jobs[0], "--after", "group:nightly")
    assert "waits for group nightly: 0 of 3 completed" in reel("why", last).text
    assert "waits for: waits for job" in reel("job", last).text
    reel.engine(complete_one_and_fail_one)
    assert "nightly ada failed 66 % 1 completed, 1 failed, 1 pending" in reel("groups").text
    shown = reel("group", "nightly").text
    assert "group nightly of ada failed 66 % 3 jobs: 1 completed, 1 failed, 1 pending" in shown
    assert str(jobs[2]) in shown
    assert reel("group", "nightly", "--json").json["counts"] == {"completed": 1, "failed": 1, "pending": 1}
    assert [each["name"] for each in reel("groups", "--json", "--user", "ada").json] == ["nightly"]
    assert reel("groups", "--json", "--user", "bob").json == []
    assert "group nightly" in reel("job", jobs[0]).text
    assert reel("cancel", "--group", "nightly").text == "1 job; nothing was changed: add --expect 1"
    assert reel("cancel", "--group", "nightly", "--expect", 1).text == f"job {jobs[2]}: cancelled"
    assert reel("retry", "--group", "nightly", "--expect", 1).text == f"job {jobs[1]}: retried"
    assert [job["id"] for job in reel("jobs", "group:nightly", "--json").json] == jobs[::-1]


def test_mistakes_say_what_to_do(reel: Reel) -> None:
    reel.engine(nothing)
    job_id = submit(reel, "--group", "g", "--user", "ada")
    submit(reel, "--group", "g", "--user", "bob")
    for arguments, hint in [
        (("group", "x"), "`reel groups` lists them"),
        (("group", "g"), "'bob', 'ada'"),
        (("submit", "simple", "--group", "a b"), "letters, digits"),
        (("submit", "simple", "--after", "x"), "group:nightly"),
        (("submit", "simple", "--after", "group:x"), "no group 'x'"),
        (("submit", "simple", "--after-failure", "explode"), "wait"),
        (("cancel", job_id, "--group", "g"), "either ids"),
        (("cancel",), "--group"),
    ]:
        answer = reel(*arguments)
        assert answer.code != 0, arguments
        assert hint in answer.text, answer.text
