"""`reel config`: show the settings."""

from __future__ import annotations

import os
from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from reelstate.cli.documents import print_json
from reelstate.cli.options import AsJson
from reelstate.cli.terminal import console, table
from reelstate.config import Setting, effective_settings, unknown_variable_warnings


def config(as_json: AsJson = False) -> None:
    """Show every setting with its variable, value and meaning. Passwords are masked.

    Example: `REEL_HEARTBEAT=5 reel config`
    """
    settings = effective_settings(os.environ)
    if as_json:
        print_json([asdict(setting) for setting in settings])
    else:
        console().print(_table(settings))
    for warning in unknown_variable_warnings(os.environ):
        console(stderr=True).print(Text(warning), soft_wrap=True)


def _table(settings: list[Setting]) -> Table:
    made = table("variable", "value", "meaning", flexible=["value", "meaning"])
    for setting in settings:
        changed = setting.source != "default"
        value = Text(str(setting.value) or "–", style="bold" if changed else "")
        note = f" (default: {setting.default})" if changed else ""
        made.add_row(setting.variable, value, Text.assemble(setting.meaning, (note, "dim")))
    return made
