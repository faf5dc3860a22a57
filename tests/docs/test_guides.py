"""The code of the guides runs, and every command, option and setting that they name exists."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer.main

import reelstate as rs
from reelstate.cli.main import reel
from reelstate.config import variable, variables
from reelstate.core.pipeline import BUILT_IN
from tests.docs.pages import ROOT, blocks, run

DECLARE = "docs/guides/declare-a-pipeline.md"
PAGES = ["README.md", *(str(page.relative_to(ROOT)) for page in sorted(ROOT.glob("docs/**/*.md")))]
COMMAND = re.compile(r"(?:^|`|/)reel ([a-z]+)([^`#\n]*)", re.MULTILINE)

DEFAULT = re.compile(r"`(REEL_[A-Z_]+)`(?: \(|, | \| )(\d+)(?: s)?(?:\)| \|)")
"""A setting with its default: `REEL_HEARTBEAT` (10 s), or in two columns of a table."""


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def module(page: str) -> str:
    """Return the code of a page as one module."""
    return "\n\n".join(blocks(page, "python"))


def test_the_pipeline_of_the_guide_can_be_declared(tmp_path: Path) -> None:
    look = "print([(stage.name, stage.phase.value, stage.each) for stage in clips.graph.stages], COPY.name)"
    (line,) = run(f"{module(DECLARE)}\n{look}", tmp_path)
    assert "('encode', 'processing', 'plan.chunks')" in line
    assert "('publish', 'uploading_outputs', None)" in line


def test_the_tests_of_the_guide_pass(tmp_path: Path) -> None:
    (tmp_path / "test_words.py").write_text(module(DECLARE))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_words.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert "2 passed" in ended.stdout, ended.stdout + ended.stderr


def test_the_guide_names_every_option_of_a_stage_with_its_default() -> None:
    _, _, section = text_of(DECLARE).partition("## The options of a stage")
    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", section.partition("\n## ")[0], re.MULTILINE))
    assert table.keys() == {"process", *(field.name for field in fields(rs.StageSpec))}
    defaults = rs.StageSpec(name="default")
    for name in ("attempts", "lease", "weight", "max_lost"):
        assert float(table[name]) == getattr(defaults, name)
    assert table["backoff"] == f"`rs.Backoff({defaults.backoff.base:.0f}, {defaults.backoff.cap:.0f})`"
    assert [table[name] for name in ("required", "strict_lease")] == ["`True`", "`False`"]


def test_the_guide_names_everything_a_handler_gets() -> None:
    given = [name for name in dir(rs.BlockingRun) if not name.startswith("_")]
    assert [name for name in [*given, "checkpoint"] if f"`task.{name}" not in text_of(DECLARE)] == []


def mistakes() -> list[tuple[str, str]]:
    return re.findall(r"^>>> (.*)\n(.*)", text_of(DECLARE), re.MULTILINE)


@pytest.mark.parametrize("source, shown", mistakes())
def test_a_mistake_raises_the_error_that_the_guide_shows(source: str, shown: str) -> None:
    with pytest.raises(rs.ReelstateError) as raised:
        eval(source, {"rs": rs})  # noqa: S307 - our own page
    assert f"{type(raised.value).__name__}: {raised.value}" == shown


def test_a_spec_is_refused_with_the_error_that_the_guide_shows(tmp_path: Path) -> None:
    shown = re.findall(r"^(\{.*\}) {2,}(spec\..*)$", text_of(DECLARE), re.MULTILINE)
    assert len(shown) == 3
    refuse = """
with rs.connect("sqlite://") as reel:
    shots.stage(name="grab")(lambda task: None)
    reel.pipelines.declare(shots)
    for spec in SPECS:
        try:
            reel.submit("shots", spec)
        except rs.ReelstateError as error:
            print(error)
"""
    specs = [json.loads(spec) for spec, _ in shown]
    assert run(f"{module(DECLARE)}\nSPECS = {specs!r}\n{refuse}", tmp_path) == [message for _, message in shown]


async def test_the_idempotent_handlers_of_the_guide_run(tmp_path: Path) -> None:
    names: dict[str, rs.Pipeline] = {}
    exec(module("docs/guides/idempotent-handlers.md"), names)  # noqa: S102 - our own page
    async with rs.open("sqlite://", pipelines=[names["movie"]], workers=1) as engine:
        jobs = [await engine.submit("movie", {"folder": str(tmp_path)}) for _ in range(2)]
        details = [await engine.wait(job.id, timeout=300) for job in jobs]
    for detail in details:
        file = detail.outputs["announce"]["file"]
        assert detail.outputs["announce"] == {"key": f"{detail.job.id}-announce-0", "file": file}
    written = {detail.outputs["announce"]["file"] for detail in details}
    assert len(written) == 2
    assert set(os.listdir(tmp_path)) == written  # noqa: PTH208 - all jobs are finished


def test_every_file_that_a_page_names_by_a_token_is_named_by_its_job_too() -> None:
    """Tokens count the runs of one task: the first run of every job has the same token."""
    for page in [*PAGES, *(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*/*.py"))]:
        for line in text_of(page).splitlines():
            if re.search(r"\{task\.token\}", line):
                assert "{task.job_id}" in line, f"{page}: {line.strip()}"


def test_no_page_takes_the_name_of_a_built_in_pipeline_for_its_own() -> None:
    for page in PAGES:
        named = set(re.findall(r"(?:Pipeline|Graph\.of)\(\s*[\"']([a-z_-]+)", text_of(page)))
        assert named.isdisjoint(BUILT_IN), page


async def test_the_states_of_the_guide_are_reported(tmp_path: Path) -> None:
    handler, manager = blocks("docs/guides/states.md", "python")
    names: dict[str, rs.Pipeline] = {}
    exec(handler, names)  # noqa: S102 - our own page
    async with rs.open("sqlite://", pipelines=[names["movie"]], workers=2) as reel:
        job = await reel.submit("movie")
        await reel.wait(job.id, timeout=300)
        (grid,) = (await reel.states.get(job.id)).stages
        assert (grid.job.tasks, grid.tags, grid.lowest.finished) == (8, ("export", "ingest"), True)
        assert [state.version for state in grid.states] == [1, 4] * 8
    assert run(manager, tmp_path) == ["2147483647 0", "item True 4", "replay_complete False None"]


def test_the_unit_runs_a_worker_and_lets_it_finish() -> None:
    (unit,) = blocks("docs/guides/run-workers.md", "ini")
    values = dict(line.partition("=")[::2] for line in unit.splitlines() if "=" in line)
    assert values["KillMode"] == "mixed"
    assert float(values["TimeoutStopSec"]) >= rs.Settings().worker_grace + 60


def named_commands(page: str) -> Iterator[tuple[str, str]]:
    for match in COMMAND.finditer(text_of(page)):
        yield match[1], match[2]


def known_options(name: str, rest: str) -> set[str]:
    application: Any = typer.main.get_command(reel)
    command = application.commands.get(name)
    assert command is not None, f"there is no command reel {name}"
    words = re.findall(r"[a-z]+", rest)
    commands = [command, *(found for word in words if (found := getattr(command, "commands", {}).get(word)))]
    parameters = [parameter for each in commands for parameter in each.params]
    return {"--help", *(text for parameter in parameters for text in (*parameter.opts, *parameter.secondary_opts))}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_that_a_page_names_exists(page: str) -> None:
    for name, rest in named_commands(page):
        unquoted = re.sub(r"\"[^\"]*\"|'[^']*'", "", rest)
        used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", unquoted))
        assert used <= known_options(name, rest), f"reel {name}{rest}"


@pytest.mark.parametrize("page", PAGES)
def test_every_variable_that_a_page_names_is_a_setting(page: str) -> None:
    named = set(re.findall(r"\bREEL_[A-Z_]*[A-Z]\b", text_of(page)))
    assert named - set(variables()) == set()


def test_a_setting_has_the_default_that_the_pages_show() -> None:
    shown = {(name, number) for page in PAGES for name, number in DEFAULT.findall(text_of(page))}
    assert len(shown) > 10
    defaults = {variable(field.name): getattr(rs.Settings(), field.name) for field in fields(rs.Settings)}
    assert [(name, number) for name, number in sorted(shown) if float(number) != defaults[name]] == []


def test_the_pages_name_the_required_version_of_python() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = tomllib.load(file)["project"]["requires-python"].removeprefix(">=")
    for page in ("README.md", "docs/quickstart.md", "CONTRIBUTING.md"):
        assert f"Python {needed}" in text_of(page)
