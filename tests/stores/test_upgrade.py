"""A rolling upgrade: processes of two releases on one PostgreSQL database, with a migration in between.

The earlier release is the newest commit with fewer migrations, if there is one that can run on the schema of this
code, which is the later release. Otherwise the earlier release is this code, and the later one a copy of it with one
more migration. A release that can't run on the schema is refused, and its jobs are completed by the later one.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reelstate as rs
from reelstate.core.machine import WorkerStatus
from reelstate.stores.migrate import migrations, oldest_schema

ROOT = Path(__file__).parents[2]
STORES = ROOT / "src/reelstate/stores"
MIGRATIONS = STORES / "postgres/migrations"
ADDED_COLUMN = {"postgres": "ALTER TABLE reelstate.jobs ADD COLUMN added text NOT NULL DEFAULT 'later';"}
ADDED_COLUMN["sqlite"] = "ALTER TABLE jobs ADD COLUMN added TEXT NOT NULL DEFAULT 'later';"
TIMEOUT = 300.0
APP = """
import os

import reelstate as rs

clips = rs.Pipeline("clips")


@clips.stage
async def cut(task):
    return os.environ["RELEASE"]
"""


def git(*arguments: str) -> str:
    completed = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return completed.stdout.strip() if completed.returncode == 0 else ""


def earlier_commit(shipped: list[str], *, compatible: bool) -> str:
    """Return the newest commit that has only the first of these migrations; empty if there is none.

    `compatible` says whether its code can run on the schema of all of them.
    """
    oldest = oldest_schema(migrations("reelstate.stores.postgres"))
    for changed in git("log", "--format=%H", "--", str(MIGRATIONS)).split():
        before = f"{changed}^"
        names = git("ls-tree", "--name-only", f"{before}:{MIGRATIONS.relative_to(ROOT)}").split()
        is_earlier = names and names == shipped[: len(names)] and len(names) < len(shipped)
        if is_earlier and (len(names) >= oldest) is compatible:
            return before
    return ""


def unpack_commit(commit: str, folder: Path) -> Path:
    """Return the sources of a commit."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit, "src"], capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder / "src"


def copy_with_one_more_migration(folder: Path) -> Path:
    """Return a copy of this code whose schema has one more column."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    number = len(list(MIGRATIONS.glob("*.sql"))) + 1
    for store, script in ADDED_COLUMN.items():
        file = folder / "src/reelstate/stores" / store / "migrations" / f"{number:04d}_added_by_a_test.sql"
        file.write_text(script)
    return folder / "src"


class Release:
    """The command `reel` of one commit, in a folder with a pipeline."""

    def __init__(self, name: str, source: Path, folder: Path, url: str) -> None:
        self.name, self._folder = name, folder
        clean = {key: value for key, value in os.environ.items() if not key.startswith("REEL_")}
        self._environment = {**clean, "PYTHONPATH": str(source), "RELEASE": name, "REEL_DATABASE_URL": url}
        self._environment |= {"REEL_WORKER_NAME": name, "REEL_HEARTBEAT": "0.5"}

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "reelstate", *arguments],
            cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False, timeout=TIMEOUT,
        )  # fmt: skip

    def migrations(self) -> int:
        """Return how many migrations the code has that this release runs."""
        script = "from reelstate.stores.migrate import migrations as m; print(len(m('reelstate.stores.postgres')))"
        command = [sys.executable, "-c", script]
        return int(subprocess.check_output(command, cwd=self._folder, env=self._environment, timeout=TIMEOUT))

    def reel(self, *arguments: str) -> str:
        answer = self.command(*arguments)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Run a worker in this block; it has registered when the block begins."""
        with subprocess.Popen(
            [sys.executable, "-m", "reelstate", "worker", "--app", "clips:clips"],
            cwd=self._folder, env=self._environment, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                assert process.stderr is not None
                lines = iter(process.stderr.readline, "")
                assert any("ready" in line for line in lines), "the worker exited"
                yield
            finally:
                process.terminate()
                process.communicate()


@pytest.fixture
def releases(tmp_path: Path, postgres_url: str) -> tuple[Release, Release]:
    """The earlier and the later release."""
    earlier = earlier_commit(sorted(path.name for path in MIGRATIONS.glob("*.sql")), compatible=True)
    if earlier:
        sources = unpack_commit(earlier, tmp_path / "earlier"), ROOT / "src"
    else:
        sources = ROOT / "src", copy_with_one_more_migration(tmp_path / "later")
    (tmp_path / "clips.py").write_text(APP)
    old, new = (
        Release(name, source, tmp_path, postgres_url)
        for name, source in zip(("earlier", "later"), sources, strict=True)
    )
    assert old.migrations() < new.migrations(), "each release runs its own code"
    return old, new


@pytest.mark.timeout(3600)
async def test_two_releases_work_side_by_side_with_a_migration_in_between(
    releases: tuple[Release, Release], postgres_url: str
) -> None:
    old, new = releases
    old.reel("migrate")
    refused = new.command("jobs")
    assert (refused.returncode, "reel migrate" in refused.stderr) == (1, True), refused.stderr
    with old.worker():
        old.reel("submit", "clips", "--wait")
        assert new.reel("migrate")
        async with rs.open(postgres_url) as reel:
            job = await reel.submit("clips")
            detail = await reel.wait(job.id, timeout=TIMEOUT)
            assert (detail.job.status, detail.outputs) == ("completed", {"cut": "earlier"})
        for command in ("jobs", "workers", "migrate"):
            old.reel(command)
        with new.worker():
            new.reel("submit", "clips", "--wait")
            old.reel("submit", "clips", "--wait")
    with old.worker(), new.worker():
        old.reel("submit", "clips", "--wait")
    async with rs.open(postgres_url) as reel:
        assert {job.status for job in (await reel.jobs.list()).items} == {"completed"}
        assert {worker.status for worker in await reel.workers.list()} == {WorkerStatus.OFFLINE}
        assert (await reel.doctor()).findings == ()


@pytest.mark.timeout(3600)
async def test_a_release_that_can_not_run_on_the_schema_is_refused_and_its_jobs_are_completed(
    tmp_path: Path, postgres_url: str
) -> None:
    earlier = earlier_commit(sorted(path.name for path in MIGRATIONS.glob("*.sql")), compatible=False)
    if not earlier:
        pytest.skip("EVERY EARLIER COMMIT CAN RUN ON THE SCHEMA")
    (tmp_path / "clips.py").write_text(APP)
    old = Release("earlier", unpack_commit(earlier, tmp_path / "earlier"), tmp_path, postgres_url)
    new = Release("later", ROOT / "src", tmp_path, postgres_url)
    old.reel("migrate")
    with old.worker():
        old.reel("submit", "clips", "--wait")
    old.reel("submit", "clips")
    assert new.reel("migrate")
    refused = old.command("jobs")
    assert (refused.returncode, "upgrade Reelstate" in refused.stderr) == (1, True), refused.stderr
    with new.worker():
        new.reel("submit", "clips", "--wait")
        async with rs.open(postgres_url) as reel:
            jobs = (await reel.jobs.list()).items
            details = [await reel.wait(job.id, timeout=TIMEOUT) for job in jobs]
            assert [detail.outputs["cut"] for detail in details] == ["later", "later", "earlier"]
            shown = [
                [(event.entity, event.target) for event in (await reel.jobs.history(job.id)).items] for job in jobs
            ]
            assert sorted(shown[0]) == sorted(shown[1]) == sorted(shown[2])
            assert (await reel.doctor()).findings == ()
