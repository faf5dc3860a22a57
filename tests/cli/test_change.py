"""Commands that change jobs and workers: retry, cancel, quarantine, force, reprioritise, workers, keys."""

import getpass
import stat

import pytest

from reelstate.cli import session
from reelstate.core.machine import TaskStatus
from tests.cli import sample_jobs
from tests.cli.conftest import Reel, database_only
from tests.engines import a_worker


def status_of(reel: Reel, job_id: int) -> str:
    return str(reel("job", job_id, "--json").json["status"])


def test_each_command_changes_the_job_and_is_recorded(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.failed_part)
    for arguments, status in [
        (["retry", job_id], "pending"),
        (["quarantine", job_id], "quarantined"),
        (["force", job_id, "failed"], "failed"),
        (["cancel", job_id], "cancelled"),
    ]:
        result = reel(*arguments, "--reason", f"to {status}")
        assert result.code == 0, result.stderr
        assert status_of(reel, job_id) == status
        last = [event for event in reel("history", job_id, "--json").json if event["entity"] == "job"][-1]
        assert (last["to"], last["reason"]) == (status, f"to {status}")
        assert last["actor"] == f"operator:{getpass.getuser()}"


def test_one_job_or_many_are_reprioritised(reel: Reel) -> None:
    job_id, other = reel.engine(sample_jobs.waiting), reel.engine(sample_jobs.waiting)
    changed = reel("reprioritise", other, "--priority", "high", "--reason", "live tonight")
    assert (changed.code, changed.stdout) == (0, f"job {other}: priority is now 8\n")
    assert [reel("job", each, "--json").json["priority"] for each in (job_id, other)] == [5, 8]
    last = reel("history", other, "--json").json[-1]
    assert (last["reason"], last["actor"]) == ("priority 5 to 8: live tonight", f"operator:{getpass.getuser()}")
    assert reel("reprioritise", "--status", "pending", "-p", "9", "--json").json == {"matched": 2}
    assert reel("reprioritise", "--status", "pending", "-p", "9", "--expect", 2).code == 0
    assert [reel("job", each, "--json").json["priority"] for each in (job_id, other)] == [9, 9]
    assert reel("cancel", job_id).code == 0
    refused = reel("reprioritise", job_id, "-p", "1")
    assert refused.code == 1
    assert "cancelled" in refused.text
    assert reel("reprioritise", other, "-p", "11").code == 2


def test_all_jobs_of_a_status_are_counted_before_they_are_changed(reel: Reel) -> None:
    broken = [reel.engine(sample_jobs.failed_part) for _ in range(2)]
    other = reel.engine(sample_jobs.waiting)
    counted = reel("retry", "--status", "failed")
    assert (counted.code, counted.stdout) == (0, "2 jobs; nothing was changed: add --expect 2\n")
    assert reel("retry", "--status", "failed", "--json").json == {"matched": 2}
    for narrowed in (["--pipeline", "simple"], ["--user", "bob"]):
        assert reel("retry", "--status", "failed", *narrowed, "--json").json == {"matched": 0}
    refused = reel("retry", "--status", "failed", "--expect", 1)
    assert refused.code == 1
    assert "2 jobs match, not 1" in refused.text
    assert {status_of(reel, job_id) for job_id in broken} == {"failed"}
    done = reel("retry", "--status", "failed", "--expect", 2, "--reason", "disk full before", "--json")
    assert {(verdict["id"], verdict["verdict"]) for verdict in done.json} == {(job_id, "ok") for job_id in broken}
    assert reel("cancel", "--status", "pending", "--pipeline", "parts", "--expect", 2).code == 0
    assert [status_of(reel, job_id) for job_id in (*broken, other)] == ["cancelled", "cancelled", "pending"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["cancel"], "expected job ids, or --status"),
        (["retry", 1, "--status", "failed"], "expected either ids or --status"),
        (["quarantine", 1, "--reason", "x", "--expect", 1], "only allowed with --status"),
    ],
)
def test_jobs_are_selected_by_ids_or_by_status(reel: Reel, arguments: list[object], message: str) -> None:
    result = reel(*arguments)
    assert result.code == 2
    assert message in result.text


def test_several_jobs_are_changed_in_one_command(reel: Reel) -> None:
    ids = [reel.engine(sample_jobs.waiting) for _ in range(3)]
    result = reel("cancel", *ids, "--json")
    assert result.code == 0
    assert [(verdict["id"], verdict["verdict"]) for verdict in result.json] == [(job_id, "ok") for job_id in ids]
    assert {status_of(reel, job_id) for job_id in ids} == {"cancelled"}


def test_retry_accepts_a_stage_and_parts(reel: Reel) -> None:
    job_id = reel.engine(sample_jobs.failed_pack)
    assert reel("retry", job_id, "--from", "work", "--parts", "0-1,3").code == 0
    ready = reel.engine(lambda engine: engine.tasks(job_id, stage="work", statuses=[TaskStatus.READY]))
    assert [task.part for task in ready.items] == [0, 1, 3]
    refused = reel("retry", job_id, "--from", "nothing")
    assert refused.code == 1
    assert "plan, work, pack" in refused.stderr


def test_a_worker_is_drained_enabled_and_disabled(reel: Reel) -> None:
    worker = reel.engine(lambda engine: a_worker(engine, "encoder"))

    def shown() -> str:
        return str(reel("workers", "--json").json[0]["status"])

    assert reel("workers", "drain", "encoder", "--reason", "x").stdout == "encoder: draining (1 instance)\n"
    assert shown() == "draining"
    assert reel("workers", "drain", "encoder", "--json").json == {"name": "encoder", "changed": []}
    assert reel("workers", "enable", "encoder", "--json").json == {"name": "encoder", "changed": [worker]}
    assert shown() == "idle"
    assert reel("workers", "disable", "encoder", "--json").json == {"name": "encoder", "released": 0}
    assert shown() == "disabled"
    assert "hint:  workers: encoder" in reel("workers", "enable", "encodr").stderr


@pytest.mark.parametrize(
    "command, name",
    [
        (["workers", "register", "encoder-7"], "encoder-7.key"),
        (["workers", "register", "encoder-7", "--key-file", "other.key"], "other.key"),
        (
            ["keys", "create", "laptop", "--user", "ada", "--scope", "jobs:read", "--key-file", "laptop.key"],
            "laptop.key",
        ),
    ],
)
def test_a_key_file_is_readable_only_by_its_owner(reel: Reel, command: list[str], name: str) -> None:
    reel("migrate")
    result = reel(*command)
    path = reel.folder / name
    key = path.read_text().strip()
    assert (result.code, stat.S_IMODE(path.stat().st_mode)) == (0, 0o600)
    assert key.startswith("reel_")
    assert key not in result.stdout + result.stderr
    made = reel("keys", "--json").json
    again = reel(*command)
    assert (again.code, path.read_text().strip()) == (1, key)
    assert "exists already hint: remove it, or choose another path with --key-file" in again.text
    assert reel("keys", "--json").json == made


@database_only
def test_no_key_file_is_left_if_no_key_was_created(reel: Reel) -> None:
    assert reel("workers", "register", "encoder-7").code == 1
    assert not list(reel.folder.glob("*.key"))


def test_a_user_without_a_name_is_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    assert session.operator() == "operator"
