"""The commands of `reel`; the module of a command is imported when the command is used."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_group

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Run": {
        "demo": "Transcode a test video, kill a worker, and check every frame.",
        "up": "Run the HTTP API, the keeper and workers on this machine.",
        "serve": "Serve the HTTP API.",
        "worker": "Claim tasks and run them.",
        "submit": "Submit a job.",
        "ingest": "Submit every video file in a folder.",
    },
    "Inspect": {
        "jobs": "List jobs.",
        "job": "Show a job: its stages, running tasks, error and outputs.",
        "groups": "List groups of jobs.",
        "group": "Show the status and the progress of all jobs of a group.",
        "why": "Show why a job or a task does not run now.",
        "watch": "Watch a job until it is inactive, or all active jobs.",
        "logs": "Show the log of a job.",
        "steps": "Show the commands that the tasks of a job ran.",
        "states": "Show the states that the tasks of a job reported.",
        "history": "Show every transition of a job, its stages and its tasks.",
        "paused": "List what is paused, by whom and why.",
        "videos": "List, show, retranscode, roll back or delete videos.",
    },
    "Change": {
        "retry": "Retry jobs: unfinished tasks, or everything from a stage on.",
        "cancel": "Cancel jobs and stop their running tasks.",
        "reprioritise": "Set the priority of jobs.",
        "quarantine": "Quarantine jobs until an operator retries or cancels them.",
        "force": "Set the status of a job.",
        "pause": "Pause everything, a pipeline, a stage, a user or a worker.",
        "resume": "Lift a pause.",
    },
    "Connect": {
        "login": "Log in to a server: check a key and store it.",
        "logout": "Forget a server and its key.",
        "profiles": "List the servers that you are logged in to, or choose the default.",
    },
    "Maintain": {
        "doctor": "Check the stored state, and repair it.",
        "archive": "Archive finished jobs; list, read or delete months.",
        "purge": "Delete all data of a user.",
        "migrate": "Apply pending migrations to the store.",
        "config": "Show every setting and its value.",
        "machines": "Show the state machines and their transitions.",
        "workers": "List, register, drain, enable, disable or revoke workers.",
        "keys": "List, create, rotate or revoke keys.",
        "webhooks": "List, add, change or remove webhooks, and inspect deliveries.",
        "limits": "List, set, show or remove limits of tasks, and turns of users.",
        "schedules": "List, create, change, pause, trigger or backfill schedules.",
        "pipelines": "List versions of pipelines, or pin the one that new jobs run.",
    },
}
"""Section of the help → command → summary. A command has the name of its module and of its function there."""


_PYTHON_TYPE: Final = re.compile(r"<(?:float|int|path|str)\b[^>|]*>")


class Commands(MutableMapping[str, Any]):
    """Commands by name, imported at lookup."""

    def __init__(self) -> None:
        self._names = [name for section in SECTIONS.values() for name in section]
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._names.append(name)
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        self._names.remove(name)
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class CommandGroup(TyperGroup):
    """The group of all commands. Its help is plain text: panels are slow to draw."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        return list(self.commands)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(commands.items())


def load(name: str) -> Any:
    """Import a command: a function, or a Typer application with subcommands."""
    from reelstate.cli.servers import offer_server  # noqa: PLC0415 - the help needs no command

    found = getattr(import_module(f"reelstate.cli.{name}"), name)
    parent = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    if isinstance(found, typer.Typer):
        for inner in found.registered_commands:
            if inner.callback is not None:
                inner.callback = offer_server(f"{name} {inner.name or inner.callback.__name__}", inner.callback)
        if found.registered_callback is not None and found.registered_callback.callback is not None:
            found.registered_callback.callback = offer_server(name, found.registered_callback.callback)
        parent.add_typer(found, name=name)
    else:
        parent.command(name)(offer_server(name, found))
    command = get_group(parent).commands[name]
    _simplify_types(command)
    return command


def _simplify_types(command: Any) -> None:
    """Show the name of an option as its type (`--user USER`) with its bounds, and no type for a flag."""
    context = typer.Context(command)
    for parameter in command.get_params(context):
        shown = "" if getattr(parameter, "is_flag", False) else parameter.display_type(context)
        name = max(parameter.opts, key=len)
        metavar = name.lstrip("-").replace("-", "_").upper() if name.startswith("-") else ""
        shown = _PYTHON_TYPE.sub(metavar, shown.replace("<list[", "<").replace("]>", ">"))
        parameter.display_type = lambda _, shown=shown: shown
    for inner in getattr(command, "commands", {}).values():
        _simplify_types(inner)
