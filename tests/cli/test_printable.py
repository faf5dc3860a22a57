"""Control characters and direction marks in data are escaped on a terminal."""

import ast
import io
import logging
import re
from pathlib import Path

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text

from reelstate.cli import terminal
from reelstate.cli.live import follow, render_job, take_snapshot
from reelstate.core.model import LogLine, Progress, Step, TaskState
from reelstate.core.printable import printable_line, printable_text
from reelstate.engine import Engine
from reelstate.library.videos import Videos
from reelstate.telemetry.logs import TextFormatter
from tests.cli.conftest import Reel
from tests.cli.test_videos import a_video
from tests.engines import a_worker, engine_at, failed

EVIL = "x\x1b]0;owned\x07\x1b[2J\x9b2J\x08\r\x7f\u202e\u2066\u200f\u2028[bold]y"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[[0-9]*[AK]|\x1b\[2K|\x1b\[\?25[lh]|\r")
"""Sequences of rich: colours and cursor movements."""


async def hostile(engine: Engine) -> dict[str, int]:
    """Create jobs, a video and a worker with control characters in every text field."""
    running = (await engine.submit("parts", {"parts": 2, EVIL: EVIL}, user_id=EVIL)).job_id
    worker = await a_worker(engine, "encoder", slots=4, hostname=EVIL, pipelines={"parts"})
    first, second = (await engine.claim(worker, 2)).tasks
    step = Step(number=1, argv=["ffmpeg", EVIL], exit_code=1, seconds=1.5, output=EVIL)
    state = TaskState(number=1, tag="tag", status=4, severity="error", message=EVIL)
    log = LogLine(message=EVIL, metadata={EVIL: EVIL})
    progress = Progress(
        key=first.key,
        token=first.token,
        percent=5,
        message=EVIL,
        step=EVIL,
        logs=(log,),
        steps=(step,),
        states=(state,),
    )
    await engine.report(worker, [progress])
    await engine.fail([failed(second, error={"type": EVIL, "message": EVIL, "trace": EVIL})])
    broken = (await engine.submit("simple", {"video": EVIL})).job_id
    other = await a_worker(engine, "other", hostname=EVIL, pipelines={"simple"})
    (task,) = (await engine.claim(other, 1)).tasks
    await engine.fail([failed(task, retryable=False, error={"type": EVIL, "message": EVIL, "trace": EVIL})])
    cancelled = (await engine.submit("simple", {"video": EVIL})).job_id
    await engine.cancel(cancelled, actor="operator:ada", reason=EVIL)
    submitted = await Videos(engine).submit("https://example.com/%1b[2J\u202e.mp4", title=EVIL, user_id=EVIL)
    await engine.drain("other", actor="operator:ada", reason=EVIL)
    return {"running": running, "broken": broken, "cancelled": cancelled, "video": submitted.resource_id or 0}


def test_no_command_prints_control_characters(reel: Reel) -> None:
    reel.engine(a_video)
    made = reel.engine(hostile)
    commands: list[list[object]] = [["jobs"], ["videos"], ["videos", "show", made["video"]], ["workers"], ["doctor"]]
    for name in ("running", "broken", "cancelled"):
        commands += [[command, made[name]] for command in ("job", "logs", "steps", "states", "history")]
    commands += [["watch", made["broken"]], ["watch", made["cancelled"]], ["cancel", made["running"], "--reason", EVIL]]
    shown = ""
    for command in commands:
        result = reel(*command)
        shown += result.stdout + result.stderr
        assert not RAW.search(result.stdout + result.stderr), (command, result)
    assert r"\x1b[2J\x9b2J\x7f\u202e" in shown, "it is shown, escaped"


async def test_the_live_view_prints_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine_at("sqlite://") as engine:
        await a_video(engine)
        made = await hostile(engine)
        screen = terminal.Screen(file=io.StringIO(), force_terminal=True, width=100, height=60)
        screen.print(render_job(await take_snapshot(engine, made["running"])))
        await follow(engine, made["broken"], screen)
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue()
    assert "owned" in text
    assert not RAW.search(STYLE.sub("", text)), ascii(text)


def test_a_screen_escapes_every_renderable() -> None:
    screen = terminal.Screen(file=io.StringIO(), width=200)
    table = Table(EVIL, title=EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL, style="red"))
    screen.print(EVIL, Text(EVIL), Group(table, Text.assemble((EVIL, "bold"), EVIL)))
    screen.print(Text(EVIL), soft_wrap=True)
    assert isinstance(screen.file, io.StringIO)
    text = screen.file.getvalue()
    assert not RAW.search(text), ascii(text)
    assert "[bold]y" in text, "what looks like markup is text"
    assert text.count("owned") == 9


def test_log_lines_are_escaped() -> None:
    error = ValueError(EVIL)
    exc_info = (ValueError, error, error.__traceback__)
    record = logging.LogRecord("reelstate", logging.INFO, "", 0, "of %s", (f"{EVIL}\nforged",), exc_info)
    first, *rest = TextFormatter("%(levelname)s %(message)s").format(record).splitlines()
    assert first.endswith(r"[bold]y\x0aforged")
    assert not RAW.search("\n".join([first, *rest]))
    assert rest[0].startswith("ValueError")


def test_only_control_characters_are_escaped() -> None:
    fine = "Café – 日本語 🎬 شريط [x] \\n"
    assert (printable_line(fine), printable_text(f"a\n\t{fine}")) == (fine, f"a\n\t{fine}")
    assert printable_line("a\nb\tc") == r"a\x0ab\x09c"
    assert printable_text("\ud800\x00") == r"\ud800\x00"


def test_commands_print_only_through_the_screen() -> None:
    """Another way of printing would not escape control characters."""
    folder = Path(terminal.__file__).parent
    allowed = {"terminal.py", "documents.py", "plain.py", "main.py"}
    found = []
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in {"print", "typer.echo", "click.echo", "typer.secho", "Console"} and path.name not in allowed:
                found.append(f"{path.name}:{node.lineno} {name}")  # type: ignore[attr-defined]
    assert found == []
