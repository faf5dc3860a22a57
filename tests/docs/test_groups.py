"""The program of the guide to groups runs, and prints what the page shows."""

from pathlib import Path

from tests.docs.pages import blocks, run


def test_the_program_of_the_guide_prints_what_the_page_shows(tmp_path: Path) -> None:
    (code,) = blocks("docs/guides/groups.md", "python")
    (shown,) = blocks("docs/guides/groups.md", "text")
    assert run(code, tmp_path) == shown.strip().splitlines()
