"""Whatever a plan contains, no command has an argument or a filter that is not on the lists."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reelstate.config import Settings
from reelstate.media.ffmpeg.arguments import ArgumentRefused, require_allowed, require_graph
from reelstate.media.planning.plan import make_plan
from reelstate.media.planning.profile import load_profile
from reelstate.media.sandbox.limits import ProcessLimits
from reelstate.media.tools import MediaTools
from tests.media.ffmpeg.test_commands import FACTS, every_command

HDR = replace(FACTS, video=replace(FACTS.video, transfer="smpte2084", interlaced=True)) if FACTS.video else FACTS
ROOT = Path("/")
WRITES = "null,metadata=mode=print:file=/tmp/canary"
READS = "null,drawtext=textfile=/etc/shadow"


@pytest.mark.parametrize("profile", ["h264", "hevc", "av1"])
@pytest.mark.parametrize("facts", [FACTS, HDR], ids=["standard", "hdr"])
def test_every_command_of_ours_is_allowed(profile: str, facts: Any) -> None:
    for argv in every_command(make_plan(facts, load_profile(profile))).values():
        require_allowed(argv, ROOT)


@pytest.mark.parametrize(
    "field, word",
    [("tonemap", WRITES), ("tonemap", READS), ("primaries", f"input,{WRITES}"), ("matrix", "2020_ncl'\\''")],
)
def test_a_text_of_a_plan_can_not_add_a_filter_to_a_graph(field: str, word: str) -> None:
    plan = make_plan(HDR, load_profile("h264"))
    changes: dict[str, Any] = {field: word}
    hostile = replace(plan, picture=replace(plan.picture, **changes))
    refused = 0
    for name, argv in every_command(hostile).items():
        if "-filter_complex" in argv and name != "audio":
            with pytest.raises(ArgumentRefused):
                require_allowed(argv, ROOT)
            refused += 1
    assert refused == 4


@pytest.mark.parametrize(
    "graph",
    [
        "movie=/etc/passwd",
        "[0:0]scale=2:2,metadata=mode=print:file=x[v]",
        "[0:0]ssim=stats_file=/tmp/canary[v]",
        "[0:0]libvmaf=model=path=/etc/passwd[v]",
        "[0:0]scale=2:2:flags=bicubic:sws_flags=x[v]",
        "[0:0]format=yuv420p\\,movie=x[v]",
        "[0:0]format='yuv420p,movie=x'[v]",
        "[0:0]sendcmd=f=/tmp/x[v]",
        "",
    ],
)
def test_a_graph_that_names_a_file_or_is_quoted_is_refused(graph: str) -> None:
    with pytest.raises(ArgumentRefused):
        require_graph(graph)


@pytest.mark.parametrize(
    "words",
    [
        ("-vf", "movie=/etc/passwd"),
        ("-filter_complex_script", "/etc/x"),
        ("-i", "/etc/passwd"),
        ("-i", "file:/etc/passwd"),
        ("-i", "concat:/task/a|/task/b"),
        ("file:/tmp/canary",),
        ("file:/task/../tmp/canary",),
        ("/task/out",),
        ("tcp://127.0.0.1:1",),
        ("-f", "tee"),
        ("-progress", "/etc/canary"),
        ("-preset", "fast:log=1"),
        ("-x265-params", "keyint=5:csv=/tmp/canary"),
        ("-c:v", "rawvideo"),
        ("-map", "0:0,file"),
        ("-passlogfile", "/etc/canary"),
    ],
)
def test_an_argument_that_no_command_of_ours_has_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ArgumentRefused):
        require_allowed(["ffmpeg", *words], Path("/task"), [Path("/sources/a")])


def test_a_command_reads_its_sources_and_writes_into_its_folder() -> None:
    allowed = ["ffmpeg", "-i", "file:/sources/a", "-i", "file:/ta%sk/b", "file:/ta%%sk/sprites-%d.jpg", "-"]
    require_allowed(allowed, Path("/ta%sk"), [Path("/sources/a")])
    with pytest.raises(ArgumentRefused):
        require_allowed(["ffmpeg", "file:/sources/a"], Path("/task"), [])


async def test_a_command_that_is_not_allowed_is_not_started(tmp_path: Path) -> None:
    tools = MediaTools.from_settings(
        Settings(scratch=str(tmp_path), storage_url=str(tmp_path / "media"), sandbox="off")
    )
    task: Any = SimpleNamespace(step=lambda *_, **__: None)
    canary = tmp_path / "canary"
    argv = ["/usr/bin/touch", str(canary)]
    with pytest.raises(ArgumentRefused):
        await tools.run(task, argv, tmp_path, limits=ProcessLimits(timeout=10))
    assert not canary.exists()
