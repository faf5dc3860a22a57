"""Type checkers report wrong uses of the public surface, and every type in its signatures has a public name."""

import dataclasses
import inspect
import re
import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import reelstate as rs
from reelstate import reel
from reelstate.core import errors
from reelstate.core.machine import PHASES, Phase
from reelstate.core.model import Entity, LogLevel, SeverityName, SubmitOptions, WorkerKind
from reelstate.core.policy import PRIORITIES, PriorityName
from reelstate.core.state import Severity
from reelstate.engine import Engine
from reelstate.runtime.verbs import Noun
from reelstate.services.claim import ClaimOptions, ClaimRequest
from reelstate.services.report import LEVELS
from reelstate.services.subscribe import ENTITIES
from reelstate.services.workers import KINDS, RegisterOptions, Registration

ROOT = Path(__file__).parent.parent
USES = ROOT / "tests" / "typing_uses.py"
IGNORE = re.compile(r"  # type: ignore\[([a-z-]+)\]")
INTERNAL = {"Ages", "NextStages", "Opening", "Permit", "Resource", "Retained", "StageHandler", "Storage", "Style"} | {
    *("ValuePath", "Runs", "StageCells", "TaskCellRow", "TaskGrid", "JobSpans", "StageSpans", "Span")
}
"""Types of public methods that only workers, keepers and the dashboard of the package use."""


def test_every_wrong_use_is_reported_and_no_right_one(tmp_path: Path) -> None:
    lines = USES.read_text().splitlines()
    wrong = {(number, found[1]) for number, line in enumerate(lines, 1) if (found := IGNORE.search(line))}
    copy = tmp_path / "uses.py"
    copy.write_text("\n".join(IGNORE.sub("", line) for line in lines))
    command = [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--no-error-summary", str(copy)]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    reported = re.findall(r"^\S*uses\.py:(\d+): error: .*\[([a-z-]+)\]$", checked.stdout, re.MULTILINE)
    assert {(int(number), code) for number, code in reported} == wrong, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    "names, values",
    [
        (PriorityName, PRIORITIES),
        (Phase, PHASES),
        (LogLevel, LEVELS),
        (SeverityName, Severity),
        (Entity, ENTITIES),
        (WorkerKind, KINDS),
    ],
)
def test_the_literals_are_the_accepted_values(names: Any, values: Any) -> None:
    assert {str(name) for name in typing.get_args(names)} == {str(value) for value in values}


@pytest.mark.parametrize(
    "options, record, given",
    [
        (SubmitOptions, rs.Submission, {"pipeline", "spec", "resource"}),
        (ClaimOptions, ClaimRequest, {"worker_id", "limit"}),
        (RegisterOptions, Registration, {"name"}),
    ],
)
def test_the_options_of_a_verb_are_the_fields_of_its_record(options: Any, record: Any, given: set[str]) -> None:
    assert options.__annotations__.keys() == {field.name for field in dataclasses.fields(record)} - given


def found_in(hint: Any, found: set[type]) -> None:
    """Add the classes of ours in a type, and in the fields of those."""
    for inner in typing.get_args(hint):
        found_in(inner, found)
    kind = typing.get_origin(hint) or hint
    if inspect.isclass(kind) and kind.__module__.startswith("reelstate") and kind not in found:
        found.add(kind)
        if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields") or typing.is_typeddict(kind):
            for name, inner in typing.get_type_hints(kind).items():
                if not name.startswith("_"):
                    found_in(inner, found)


def test_every_type_of_a_public_method_has_a_public_name() -> None:
    found: set[type] = set()
    nouns = [kind for kind in vars(reel).values() if inspect.isclass(kind) and issubclass(kind, Noun)]
    for owner in (Engine, rs.Pipeline, rs.Graph, rs.Run, rs.BlockingRun, *nouns):
        for name, member in inspect.getmembers(owner):
            function = member.fget if isinstance(member, property) else member
            if not name.startswith("_") and (inspect.isfunction(function) or inspect.ismethod(function)):
                for hint in typing.get_type_hints(function).values():
                    found_in(hint, found)
    assert len(found) > 40
    assert {kind.__name__ for kind in found} - set(rs.__all__) == INTERNAL


def test_every_error_has_a_public_name() -> None:
    tree = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)}
    assert tree <= set(rs.__all__)
