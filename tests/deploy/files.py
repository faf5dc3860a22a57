"""The deployment files, read the way the programs that use them read them."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import typer
import yaml

from reelstate.cli.main import reel

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def read_unit(path: Path) -> list[tuple[str, str]]:
    """Return the settings of a unit in their order: a name may come several times."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [(name, value) for line in lines if line and line[0] not in "#[" for name, _, value in [line.partition("=")]]


def unit_values(path: Path) -> dict[str, str]:
    """Return the last value of each setting of a unit."""
    return dict(read_unit(path))


def seconds(text: str) -> float:
    """Return the seconds of a span of systemd or Compose, such as `75s` or `10min`."""
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)\s*([a-z]*)", text))


@cache
def text_files() -> tuple[Path, ...]:
    """Every text file below deploy/."""
    kept = (path for path in sorted(DEPLOY.rglob("*")) if path.is_file() and path.suffix != ".json")
    return tuple(path for path in kept if not {"__pycache__", "secrets"} & set(path.parts))


def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def command_of(words: list[str]) -> list[str]:
    """Return what follows `reel` in a command of a container."""
    assert words[0] == "reel"
    return words[1:]


def check_command(words: list[str]) -> None:
    """Fail unless `reel …` parses: its commands exist, and each of its options."""
    command: Any = typer.main.get_command(reel)
    words = list(words)
    known: set[str] = set()
    while words and (found := getattr(command, "commands", {}).get(words[0])) is not None:
        command = found
        words.pop(0)
        known |= {text for each in command.params for text in (*each.opts, *each.secondary_opts)}
    assert known, f"reel {shlex.join(words)}: no such command"
    assert not hasattr(command, "commands"), f"reel … {shlex.join(words)}: no such command"
    with command.make_context(command.name, [re.sub(r"%\w|\$\(?\w+\)?", "1", word) for word in words]):
        pass
