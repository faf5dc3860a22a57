"""A rolling upgrade: processes of an earlier commit and of this one on one PostgreSQL database, a migration in between.

The earlier commit is the last one that lacks the newest migrations of this one and has no others, taken from the
repository's history.
"""

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reelstate as rs
from reelstate.app import store_at
from reelstate.core.machine import WorkerStatus

ROOT = Path(__file__).parents[2]
MIGRATIONS = ROOT / "src/reelstate/stores/postgres/migrations"
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
    answer = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else ""


def earlier_commit(shipped: list[str]) -> tuple[str, int]:
    """The newest commit that has only the first of these migrations, and how many; none without the history."""
    for changed in git("log", "--format=%H", "--", str(MIGRATIONS)).split():
        before = f"{changed}^"
        names = git("ls-tree", "--name-only", f"{before}:{MIGRATIONS.relative_to(ROOT)}").split()
        if names and names == shipped[: len(names)] and len(names) < len(shipped):
            return before, len(names)
    return "", 0


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
        """How many migrations the code has that this release really runs."""
        script = "from reelstate.stores.migrate import migrations as m; print(len(m('reelstate.stores.postgres')))"
        command = [sys.executable, "-c", script]
        return int(subprocess.check_output(command, cwd=self._folder, env=self._environment, timeout=TIMEOUT))

    def reel(self, *arguments: str) -> str:
        answer = self.command(*arguments)
        assert answer.returncode == 0, answer.stderr
        return answer.stdout

    @contextmanager
    def worker(self) -> Iterator[None]:
        """A worker that has registered; it is stopped at the end."""
        with subprocess.Popen(
            [sys.executable, "-m", "reelstate", "worker", "--app", "clips:clips"],
            cwd=self._folder, env=self._environment, stderr=subprocess.PIPE, text=True,
        ) as process:  # fmt: skip
            try:
                assert process.stderr is not None
                lines = iter(process.stderr.readline, "")
                assert any("is ready" in line for line in lines), "the worker has ended"
                yield
            finally:
                process.terminate()
                process.communicate()


@pytest.fixture
def releases(tmp_path: Path, postgres_url: str) -> tuple[Release, ...]:
    """The earlier release and this one."""
    shipped = sorted(path.name for path in MIGRATIONS.glob("*.sql"))
    earlier, applied = earlier_commit(shipped)
    if not earlier:
        pytest.skip(f"UPGRADES ARE NOT TESTED: no commit before {shipped[-1]} is here, in a shallow or exported copy")
    with subprocess.Popen(["git", "-C", str(ROOT), "archive", earlier, "src"], stdout=subprocess.PIPE) as archive:
        assert archive.stdout is not None
        with tarfile.open(fileobj=archive.stdout, mode="r|") as packed:
            packed.extractall(tmp_path / "earlier", filter="data")
    (tmp_path / "clips.py").write_text(APP)
    made = tuple(
        Release(name, source, tmp_path, postgres_url)
        for name, source in (("earlier", tmp_path / "earlier" / "src"), ("current", ROOT / "src"))
    )
    assert [release.migrations() for release in made] == [applied, len(shipped)]
    return made


@pytest.mark.timeout(3600)
async def test_two_releases_work_side_by_side_with_a_migration_in_between(
    releases: tuple[Release, ...], postgres_url: str
) -> None:
    old, new = releases
    old.reel("migrate")
    refused = new.command("jobs")
    assert (refused.returncode, "reel migrate" in refused.stderr) == (1, True), refused.stderr
    with old.worker():
        old.reel("submit", "clips", "--wait")
        assert await store_at(postgres_url).migrate()
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
