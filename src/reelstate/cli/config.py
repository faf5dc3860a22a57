"""`reel config`: every setting with its value, where it comes from and what it means."""

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
    """Show every setting: its variable, the value in force, and its meaning. Passwords are not shown.

    Example: `REEL_HEARTBEAT=5 reel config`
    """
    settings = effective_settings(os.environ)
    if as_json:
        print_json([asdict(setting) for setting in settings])
    else:
        console().print(_table(settings))
    for slip in unknown_variable_warnings(os.environ):
        console(stderr=True).print(Text(slip), soft_wrap=True)


def _table(settings: list[Setting]) -> Table:
    made = table("variable", "value", "meaning", flexible=["value", "meaning"])
    for setting in settings:
        changed = setting.source != "default"
        value = Text(str(setting.value) or "–", style="bold" if changed else "")
        note = f" (default: {setting.default})" if changed else ""
        made.add_row(setting.variable, value, Text.assemble(setting.meaning, (note, "dim")))
    return made
