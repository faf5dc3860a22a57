"""`reel pipelines`, and the pipelines of a worker."""

import subprocess
import sys

import pytest

import reelstate as rs
from reelstate.cli.application import select_pipelines
from reelstate.config import Settings
from reelstate.core.errors import InvalidPipeline, InvalidRequest
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.engine import Engine
from tests.cli.conftest import APP_MODULE, Reel, database_only
from tests.engines import a_worker

OLD, NEW = (Graph.of("clips", [StageSpec(name=name)]) for name in ("old", "new"))
APP = """
import reelstate as rs

clips, thumbs = rs.Pipeline("clips"), rs.Pipeline("thumbs")

for pipeline in (clips, thumbs):
    pipeline.stage(name="cut")(lambda task: None)
"""


async def both_versions(engine: Engine) -> None:
    await engine.declare(OLD, NEW)
    await a_worker(engine, "cpu-1", metadata={"pipelines": {"clips": OLD.digest}})


def test_versions_are_listed_with_their_workers(reel: Reel) -> None:
    reel.engine(both_versions)
    lines = [line for line in reel("pipelines").stdout.splitlines() if line.strip().startswith("clips")]
    assert [OLD.digest[:12] in line and "cpu-1" in line for line in lines] == [False, True]
    assert [NEW.digest[:12] in line and "newest" in line for line in lines] == [True, False]
    shown = [version for version in reel("pipelines", "--json").json if version["name"] == "clips"]
    assert [(version["digest"], version["current"]) for version in shown] == [(NEW.digest, True), (OLD.digest, False)]


def test_a_version_is_pinned_submitted_and_unpinned(reel: Reel) -> None:
    reel.engine(both_versions)
    assert f"new jobs run version {OLD.digest[:12]} (pinned)" in reel("pipelines", "use", "clips", OLD.digest[:6]).text
    job = reel("submit", "clips", "--json").json["id"]
    assert reel("job", job, "--json").json["digest"] == OLD.digest
    job = reel("submit", "clips", "--digest", NEW.digest, "--json").json["id"]
    assert reel("job", job, "--json").json["digest"] == NEW.digest
    assert f"new jobs run version {NEW.digest[:12]} (newest)" in reel("pipelines", "use", "clips", "newest").text
    refused = reel("pipelines", "use", "clips", "ffffff")
    assert refused.code == 1
    assert f"hint: at least 6 characters of one of: {NEW.digest[:12]}, {OLD.digest[:12]}" in refused.text


@database_only
def test_a_worker_selects_some_pipelines(reel: Reel) -> None:
    (reel.folder / f"{APP_MODULE}.py").write_text(APP)

    def names(chosen: str) -> list[str]:
        return [each.name for each in select_pipelines(Settings(app=f"{APP_MODULE}.py", worker_pipelines=chosen))]

    assert names("") == ["transcode", "clips", "thumbs"]
    assert names("thumbs, transcode") == ["transcode", "thumbs"]
    with pytest.raises(InvalidRequest, match="there is no pipeline 'thumb'") as refused:
        names("thumb")
    assert refused.value.hint == "pipelines: transcode, clips, thumbs"
    result = reel("worker", "--app", f"{APP_MODULE}.py", "--pipelines", "thumb")
    assert (result.code, "there is no pipeline 'thumb'" in result.text) == (1, True)


@database_only
def test_workers_of_up_have_the_selected_pipelines(reel: Reel) -> None:
    (reel.folder / f"{APP_MODULE}.py").write_text(APP)
    command = [sys.executable, "-m", "reelstate", "up", "--app", f"{APP_MODULE}.py", "--pipelines", "thumbs"]

    async def chosen(engine: Engine) -> list[frozenset[str]]:
        return [worker.pipelines for worker in await engine.workers()]

    with subprocess.Popen([*command, "--workers", "1"], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert any("worker ready" in line for line in process.stderr), "it stopped early"
            assert reel.engine(chosen) == [{"thumbs"}]
        finally:
            process.terminate()
            process.communicate()


def test_a_built_in_name_is_reserved() -> None:
    for declare in (lambda: rs.Pipeline("transcode"), lambda: rs.Graph.of("transcode", [StageSpec(name="main")])):
        with pytest.raises(InvalidPipeline, match="'transcode' is reserved"):
            declare()
