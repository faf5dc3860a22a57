"""Give commands the same options without repeating them: Typer reads the options of a command from its signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import typer

Command = Callable[..., Any]


def list_by_default(group: typer.Typer, text: str, example: str) -> Callable[[Command], Command]:
    """Make a function the command `list` of a group, and what the group does without a command, with the same options.

    `text` and `example` are the help of the group.
    """

    def register(listing: Command) -> Command:
        def show(context: typer.Context, **options: Any) -> None:
            if context.invoked_subcommand is None:
                listing(**options)

        context = parameters_of(show)[0]
        _set_parameters(show, [context, *parameters_of(listing)])
        group.callback(invoke_without_command=True, help=f"{text}\n\nExample: `{example}`")(show)
        group.command("list")(listing)
        return listing

    return register


def make_command(named: Command, run: Command, parameters: Iterable[Parameter]) -> Command:
    """Return `run` as a command with the name and help of another function, and these options."""
    made = wraps(named)(run)
    _set_parameters(made, parameters)
    return made


def parameters_of(command: Command) -> list[Parameter]:
    """Return the options of a command, or of a record whose fields are annotated like options."""
    return list(signature(command, eval_str=True).parameters.values())


def _set_parameters(command: Any, parameters: Iterable[Parameter]) -> None:
    keywords = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    command.__signature__ = Signature(keywords)
    command.__annotations__ = {each.name: each.annotation for each in keywords}
