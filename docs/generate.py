#!/usr/bin/env python3
"""Generates the parts of the documentation that are derived from the code: `python docs/generate.py`.

A page holds the generated text between two comments, `<!-- generated: name -->` and `<!-- end -->`; the rest of the
page is not changed. Diagrams are generated as whole files. A test compares the committed files with the output.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from reelstate import reel as reel_module
from reelstate.api.app import create_app
from reelstate.app import store_at
from reelstate.cli.main import reel
from reelstate.config import DEFAULTS, effective_settings
from reelstate.core import errors
from reelstate.core.diagram import mermaid, svg
from reelstate.core.document import DocumentLimits
from reelstate.core.machine import MACHINES, Machine
from reelstate.engine import Engine
from reelstate.media.planning.profile import SCHEMA
from reelstate.reel import BlockingReel, Nouns, Reel
from reelstate.runtime.verbs import Noun
from reelstate.services.doctor import CHECKS, DoctorCheck
from reelstate.telemetry.declarations import METRICS, PREFIX

DOCS: Final = Path(__file__).parent
PAGES: Final = (
    "lifecycle.md",
    "operations.md",
    "guides/doctor.md",
    "reference/cli.md",
    "reference/configuration.md",
    "reference/errors.md",
    "reference/http.md",
    "reference/metrics.md",
    "reference/profiles.md",
    "reference/python.md",
)
_BLOCK: Final = re.compile(r"(<!-- generated: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def generated() -> dict[Path, str]:
    """Return every file with generated content, and the text it should have."""
    parts = blocks()
    pages = {DOCS / name: _filled((DOCS / name).read_text(), parts) for name in PAGES}
    pictures = {DOCS / "images" / f"{name}.svg": svg(machine) for name, machine in MACHINES.items()}
    return pages | pictures


def blocks() -> dict[str, str]:
    """Return the generated parts by name."""
    machines = {name: _machine(machine) for name, machine in MACHINES.items()}
    reference = {"commands": _commands(), "settings": _settings(), "metrics": _metrics()}
    profile = {"profile": _profile(), "profile-schema": f"```json\n{json.dumps(SCHEMA, indent=2)}\n```\n"}
    reference["http"] = _http(create_app(Engine(store_at("sqlite://")), DEFAULTS).openapi())
    return machines | reference | profile | {"errors": _errors(), "checks": _checks(), "limits": _limits(), **_python()}


def _filled(page: str, parts: Mapping[str, str]) -> str:
    return _BLOCK.sub(lambda block: f"{block[1]}\n{parts[block[2]]}\n{block[3]}", page)


def _machine(machine: Machine) -> str:
    rows = [
        (f"`{origin}`", ", ".join(f"`{target}`" for target in targets), ", ".join(actors))
        for (origin, actors), targets in _grouped(machine).items()
    ]
    initial = " or ".join(f"`{state}`" for state in machine.initial_states)
    terminal = ", ".join(f"`{state}`" for state in machine.terminal) or "none"
    return "\n".join(
        [
            f"```mermaid\n{mermaid(machine)}```\n",
            f"![The {machine.entity} machine](images/{machine.entity}.svg)\n",
            f"Initial: {initial}. Terminal: {terminal}.\n",
            _table(("from", "to", "allowed for"), rows),
        ]
    )


def _grouped(machine: Machine) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return the targets that the same actors may reach from one state."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for change in sorted(machine.transitions, key=lambda change: machine.states.index(change.origin)):
        groups.setdefault((change.origin, tuple(sorted(change.actors))), []).append(change.target)
    return groups


def _errors() -> str:
    """Return the tree of errors from the docstring of its module."""
    text = inspect.cleandoc(errors.__doc__ or "")
    return f"```text\n{text[text.index('ReelstateError') :]}\n```\n"


def _checks() -> str:
    rows = [(f"`{check.name}`", check.invariant, check.remedy, _at_open(check)) for check in CHECKS]
    return _table(("check", "what must hold", "what repair does", "run at open"), rows)


def _at_open(check: DoctorCheck) -> str:
    if not check.quick:
        return ""
    return "if a guard is missing" if check.guarded else "yes"


def _metrics() -> str:
    rows = [
        (
            f"`{PREFIX}{metric.name}`",
            str(metric.kind),
            ", ".join(f"`{label}`" for label in metric.labels),
            str(metric.origin),
            metric.meaning,
        )
        for metric in METRICS
    ]
    return _table(("metric", "kind", "labels", "of", "meaning"), rows)


def _limits() -> str:
    rows = [(f"`{field.name}`", f"{getattr(DocumentLimits(), field.name):,}") for field in fields(DocumentLimits)]
    return _table(("field of `DocumentLimits`", "default"), rows)


def _python() -> dict[str, str]:
    """Return a table of the verbs of each noun, and one of the verbs that only the engine has."""
    nouns = [noun for noun in vars(reel_module).values() if isinstance(noun, type) and issubclass(noun, Noun)]
    verbs = {noun: _verbs(noun) for noun in nouns if noun.__module__ == reel_module.__name__}
    shown = {method for found in verbs.values() for method in found.values()}
    sections = [
        f"### `reel.{noun.__name__.lower()}`\n\n{inspect.getdoc(noun)}\n\n{_verb_table(found)}"
        for noun, found in verbs.items()
        if noun not in {Nouns, Reel, BlockingReel}
    ]
    engine = {name: method for name, method in _verbs(Engine).items() if method not in shown}
    return {
        "python-common": _verb_table(verbs[Nouns]),
        "python-nouns": "\n".join(sections),
        "python-engine": _verb_table(engine),
    }


def _verbs(owner: type) -> dict[str, Callable[..., Any]]:
    """Return the public methods that a class declares, by name."""
    methods = {name: getattr(owner, name) for name in vars(owner) if not name.startswith("_")}
    return {name: method for name, method in methods.items() if inspect.isfunction(method)}


def _verb_table(verbs: Mapping[str, Callable[..., Any]]) -> str:
    rows = []
    for name, method in verbs.items():
        signature = inspect.signature(method)
        arguments = [
            parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()
        ]
        shown = signature.replace(parameters=arguments[1:], return_annotation=inspect.Signature.empty)
        returned = str(signature.return_annotation).replace("|", "\\|")
        meaning = " ".join((inspect.getdoc(method) or "").split())
        rows.append((f"`{name}{shown}`", "" if returned == "None" else f"`{returned}`", meaning))
    return _table(("verb", "returns", "what it does"), rows)


def _profile() -> str:
    """Return a table of the fields of a profile, its rungs and its audio."""
    properties = SCHEMA["properties"]
    inner = {"rungs": properties["rungs"]["items"]["properties"], "audio": properties["audio"]["properties"]}
    fields = {
        name: field
        for outer, schema in properties.items()
        for name, field in {
            outer: schema,
            **{f"{outer}.{each}": rest for each, rest in inner.get(outer, {}).items()},
        }.items()
    }
    rows = [(f"`{name}`", _allowed(field), _default(field), field["description"]) for name, field in fields.items()]
    return _table(("field", "values", "default", "meaning"), rows)


def _allowed(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if "minimum" in field:
        return f"{field['minimum']:,} to {field['maximum']:,}"
    return {"boolean": "`true`, `false`", "array": f"1 to {field.get('maxItems')}"}.get(str(field["type"]), "")


def _default(field: Mapping[str, Any]) -> str:
    return f"`{json.dumps(field['default'])}`" if "default" in field else ""


def _settings() -> str:
    rows = [
        (f"`{setting.variable}`", f"`{setting.default}`" if setting.default != "" else "", setting.meaning)
        for setting in effective_settings({})
    ]
    return _table(("variable", "default", "meaning"), rows)


def _commands() -> str:
    """Return a section per command from its help: what it does, an example, its arguments and options."""
    return "\n".join(_command(name, command) for name, command in _walk("reel", get_command(reel)))


def _walk(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands of a group by their full names, including groups that can be called themselves."""
    for word, inner in sorted(getattr(command, "commands", {}).items()):
        yield f"{name} {word}", inner
        yield from _walk(f"{name} {word}", inner)


def _command(name: str, command: Any) -> str:
    text, *examples = inspect.cleandoc(command.help).split("Example: ")
    rows = [_parameter(each) for each in command.params if not each.hidden]
    table = _table(("argument or option", "meaning"), rows) if rows else ""
    shown = "\n".join(example.strip("` \n") for example in examples)
    return f"### `{name}`\n\n{text.strip()}\n\n```sh\n{shown}\n```\n\n{table}"


def _parameter(parameter: Any) -> tuple[str, str]:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name}`", parameter.help or ""
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}".replace("|", "\\|")
    names = ", ".join(f"`{word}{value}`" for word in sorted(parameter.opts))
    required = " Required." if parameter.required else ""
    variable = f" Else `{parameter.envvar}`." if parameter.envvar else ""
    return names, f"{parameter.help}{required}{variable}"


def _http(document: Mapping[str, Any]) -> str:
    """Return a section per route, by tag, and then the documents of requests and responses."""
    routes = [
        (operation["tags"][0], f"{method.upper()} {path}", operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    tags = dict.fromkeys(tag for tag, _, _ in routes)
    chapters = [
        f"## {tag.capitalize()}\n\n"
        + "\n".join(_route(name, operation) for found, name, operation in routes if found == tag)
        for tag in tags
    ]
    schemas = [_schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())]
    return "\n".join([*chapters, "## Documents\n", *schemas])


def _route(name: str, operation: Mapping[str, Any]) -> str:
    scopes = {scope for each in operation.get("security", []) for names in each.values() for scope in names}
    rows = [
        (f"`{each['name']}`", each["in"], each.get("description", "").replace("|", "\\|"))
        for each in operation.get("parameters", [])
    ]
    lines = [f"### `{name}`", operation["description"], f"Scope: `{', '.join(sorted(scopes))}`." if scopes else ""]
    if rows:
        lines.append(_table(("parameter", "in", "meaning"), rows).rstrip())
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        lines.append(f"Body (`{kind}`): {_kind(content.get('schema', {}))}.")
    lines.append(
        "Responses: "
        + "; ".join(f"{status} {_response(response)}" for status, response in sorted(operation["responses"].items()))
        + "."
    )
    return "\n\n".join(filter(None, lines)) + "\n"


def _response(response: Mapping[str, Any]) -> str:
    kinds = [_kind(content["schema"]) for content in response.get("content", {}).values() if content.get("schema")]
    shown = [kind for kind in kinds if kind and "Problem" not in kind]
    return ", ".join([response["description"], *shown])


def _kind(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
    return str(schema.get("type", "anything"))


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = schema.get("required", [])
    rows = [
        (
            f"`{field}`" + ("" if field in required else " (optional)"),
            _kind(each),
            each.get("description", "").replace("|", "\\|"),
        )
        for field, each in schema.get("properties", {}).items()
    ]
    description = schema.get("description", "").split("\n\n")[0]
    body = _table(("field", "type", "meaning"), rows) if rows else f"{_kind(schema)}\n"
    return f"### {name}\n\n" + (f"{description}\n\n" if description else "") + body


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    """Write the files that have changed."""
    for path, text in generated().items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


if __name__ == "__main__":
    main()
