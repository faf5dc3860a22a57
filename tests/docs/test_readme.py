"""The programs and commands of the documentation run unchanged and do what the text says."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Terminals, blocks, free_port, run

SHEET = "{'sheet': {'files': ['a.mp4-0.jpg', 'a.mp4-10.jpg', 'a.mp4-20.jpg',"


@pytest.fixture
def readme(tmp_path: Path) -> Path:
    """Return a folder with the pipeline of the README."""
    (tmp_path / "pipelines.py").write_text(blocks("README.md", "python")[0])
    return tmp_path


def test_the_program_of_the_readme_completes_its_job(readme: Path) -> None:
    *lines, outputs = run(blocks("README.md", "python")[1], readme)
    assert lines[0] == "job None None None → pending by user"
    assert lines[-1] == "job None None uploading_outputs → completed by orchestrator"
    assert len([line for line in lines if line.endswith("running → done by worker")]) == 8
    assert outputs.startswith(SHEET)


def test_run_twice_the_program_of_the_readme_makes_one_job(readme: Path) -> None:
    program = blocks("README.md", "python")[1]
    assert run(program, readme) == run(program, readme)


def test_the_commands_of_the_readme_complete_a_job(readme: Path) -> None:
    up = "reel up --app pipelines:thumbs"
    assert f"`{up}`" in text_of("README.md")
    *commands, curl = blocks("README.md", "sh")[-1].splitlines()
    assert curl.startswith("curl ")
    port = free_port()
    with Terminals(readme) as terminals:
        terminals.start(f"{up} --port {port}")
        submitted = terminals.type("\n".join(commands))
        listed = terminals.type(curl.replace("8700", port)) if shutil.which("curl") else ""
    assert re.search(r"submitted job \d+ to thumbs", submitted)
    assert "completed  100 %  plan 1/1 grab 6/6 sheet 1/1" in submitted
    assert "healthy: every invariant holds" in submitted
    assert not listed or [job["status"] for job in json.loads(listed)["items"]] == ["completed"]


def test_every_command_that_the_readme_names_is_one(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text()
    named = {match[1] for match in re.finditer(r"reel ([a-z]+)", text)} | {"watch", "logs", "retry", "quarantine"}
    listed = Terminals(tmp_path).type("reel --help")
    assert [name for name in sorted(named) if f" {name} " not in listed] == []


def test_the_job_of_the_quickstart_fails_and_resumes_after_the_fix(tmp_path: Path) -> None:
    page = "docs/quickstart.md"
    pipeline, program = blocks(page, "python")
    up, submit, look, fix, up_again, retry, record, manual_sql = blocks(page, "sh")
    (tmp_path / "pipelines.py").write_text(pipeline)
    with Terminals(tmp_path) as terminals:
        terminals.start(up)
        failed = terminals.type(submit, expect=1)
        terminals.keep(JOB=re.findall(r"submitted job (\d+)", failed)[0])
        looked = terminals.type(without_id(look))
        assert "no codec for this frame" in looked
        assert "starts at frame 70" not in looked
        terminals.type(fix)
        terminals.start(up_again)
        resumed = terminals.type(retry)
        assert "retried" in resumed
        assert "completed  100 %  plan 1/1 encode 4/4 join 1/1" in resumed
        assert resumed.splitlines()[-1].endswith("chunk 2 starts at frame 70")
        recorded = terminals.type(record)
        assert "fixed the encoder" in recorded
        assert recorded.count("task plan/0") == 2
        assert "healthy: every invariant holds" in recorded
        if shutil.which("sqlite3"):
            assert "completed -> pending is not allowed" in terminals.type(f"! {manual_sql}")
        assert [f"It prints `{line}`" in text_of(page) for line in run(program, tmp_path)] == [True]


def without_id(commands: str) -> str:
    """Return the commands without the line in which a reader enters the id."""
    assert commands.startswith("JOB=")
    return commands.partition("\n")[2]


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def test_the_custom_worker_completes_its_job_and_goes_offline(tmp_path: Path) -> None:
    guide = "docs/guides/claim-and-report.md"
    (line,) = run(blocks(guide, "python")[0], tmp_path)
    assert line == "completed attempts: [1, 2, 1] worker: offline"
    assert f"It prints `{line}`" in text_of(guide)


def test_the_test_in_the_reference_controls_the_clock(tmp_path: Path) -> None:
    assert run(blocks("docs/reference/python.md", "python")[-1], tmp_path) == ["1 taken back", "lost"]


def test_the_readme_is_short_and_opens_with_the_commands() -> None:
    lines = text_of("README.md").splitlines()
    assert len(lines) <= 120
    first_screen = "\n".join(lines[:40])
    assert [
        command
        for command in ("make demo", "make test", "pip install .", "reel up", "reel submit transcode movie.mp4 --wait")
        if command not in first_screen
    ] == []


def test_the_readmes_programs_are_short() -> None:
    for program in blocks("README.md", "python"):
        assert len([line for line in program.splitlines() if line.strip()]) <= 20
