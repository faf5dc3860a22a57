"""docs/reference/cli.md agrees with the --help of each command."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Reel
from tests.cli.test_commands import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()
OPTION = re.compile(r"(?<![\w-])(--[a-z]+|-[a-z])(?![\w-])")


def section(command: str) -> str:
    return PAGE.partition(f"### `reel {command}`\n")[2].partition("\n### ")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_the_options_and_the_example_of_the_help(reel: Reel, command: str) -> None:
    text = reel(*command.split(), "--help", COLUMNS="200").stdout
    table = "\n".join(line for line in section(command).splitlines() if line.startswith("| `"))
    written = set(OPTION.findall("\n".join(row.split(" | ")[0] for row in table.splitlines())))
    shown = {word for line in text.splitlines() if line.startswith("│") for word in OPTION.findall(line[:40])}
    assert written == shown - {"--help"}
    (example,) = re.findall(r"```sh\n(.*?)\n```", section(command), re.DOTALL)
    assert all(line in text for line in example.splitlines())


def test_the_page_has_exactly_the_commands() -> None:
    assert sorted(re.findall(r"^### `reel (.+)`$", PAGE, re.MULTILINE)) == sorted(COMMANDS)
