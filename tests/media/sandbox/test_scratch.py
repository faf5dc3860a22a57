"""Folders of running tasks: they go with the task, and those of killed processes with the next one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reelstate.media.sandbox.confine import NOBODY
from reelstate.media.sandbox.scratch import scratch_folder
from tests.media.processes import names_in

HOLD = """
import sys
from pathlib import Path
from reelstate.media.sandbox.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1]), 7, "encode", 3, 1) as folder:
    (folder / "half").write_text("made")
    print(folder, flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(place: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process in the middle of a task, and its folder."""
    command = [sys.executable, "-c", HOLD, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def test_a_folder_exists_while_it_is_used(tmp_path: Path) -> None:
    with scratch_folder(tmp_path / "scratch", 7, "encode", 3, 1) as folder:
        (folder / "file").write_text("x")
        assert folder.name.startswith("reel-7-encode-3-1-")
    assert names_in(tmp_path / "scratch") == []


def test_folders_of_killed_processes_are_deleted_and_those_of_running_ones_stay(tmp_path: Path) -> None:
    with holder(tmp_path) as (killed, left), holder(tmp_path) as (_, used):
        killed.kill()
        killed.wait()
        assert (left / "half").exists()
        with scratch_folder(tmp_path, 8, "encode", 0, 1) as ours, scratch_folder(tmp_path, 8, "audio", 0, 1) as too:
            assert sorted(names_in(tmp_path)) == sorted(path.name for path in (used, ours, too))
        assert (used / "half").exists()


def test_nothing_else_is_deleted(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "scratch", tmp_path / "elsewhere"
    for folder in (place / "reel-demo-abc", place / "reelstate-sources", elsewhere):
        folder.mkdir(parents=True)
    (elsewhere / "file").write_text("x")
    (place / "reel-7-encode-3-1-abc").symlink_to(elsewhere)
    (place / "reel-7-encode-3-1-def").write_text("a file")
    before = sorted(names_in(place))
    with scratch_folder(place, 8, "encode", 0, 1):
        pass
    assert sorted(names_in(place)) == before
    assert (elsewhere / "file").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders to nobody")
def test_files_left_by_a_tool_as_nobody_are_deleted_with_the_next_folder_of_root(tmp_path: Path) -> None:
    with holder(tmp_path) as (process, left):
        os.chown(left, NOBODY, NOBODY)
        process.kill()
        process.wait()
        with scratch_folder(tmp_path, 8, "encode", 0, 1) as folder:
            assert names_in(tmp_path) == [folder.name]
