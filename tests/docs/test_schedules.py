"""The program of the guide runs, and the guide names every timing, policy and outcome."""

from pathlib import Path

from reelstate.core.schedule import CatchUp, Overlap
from reelstate.services.schedules.schedules import MAX_BACKFILL
from reelstate.services.schedules.ticks import MAX_QUEUED
from reelstate.services.schedules.timing import ALIASES, UNITS
from tests.docs.pages import ROOT, blocks, run

PAGE = "docs/guides/schedules.md"


def test_the_program_of_the_guide_runs(tmp_path: Path) -> None:
    (program,) = blocks(PAGE, "python")
    assert run(program, tmp_path) == ["3 ticks in three days", "{'draw': 'drawn incoming'}"]


def test_the_guide_names_every_timing_and_policy() -> None:
    page = (ROOT / PAGE).read_text()
    synonyms = {"@midnight", "@annually"}
    named = [*(ALIASES.keys() - synonyms), *UNITS]
    assert [name for name in named if f"`{name}`" not in page] == []
    assert [policy for policy in (*Overlap, *CatchUp) if f"| `{policy}` " not in page] == []
    assert page.count(f"{MAX_QUEUED:,}") == page.count(f"{MAX_BACKFILL:,}") == 2
