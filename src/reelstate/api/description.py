"""Completes the OpenAPI description that FastAPI makes: summaries, scopes, and the problems of every route."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from reelstate.api.auth import Require
from reelstate.api.errors import Problem, problems

TITLE: Final = "Reelstate"
VERSION: Final = "1"
DESCRIPTION: Final = (
    "Submit jobs, follow them, and operate a deployment.\n\n"
    "Programs send a key: `Authorization: Bearer reel_…`, made by `reel keys create`. Errors are problem documents "
    "(RFC 9457) with a `hint`. Listings come in pages: `after` of one page asks for the next."
)
_REPLACED: Final = ("HTTPValidationError", "ValidationError")
Described = dict[str, Any]


def describe(app: FastAPI) -> None:
    """Have an application complete its description when it is first requested."""
    plain = app.openapi

    def complete() -> Described:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(plain(), _scopes(app.routes))
        return app.openapi_schema

    app.openapi = complete  # type: ignore[method-assign]


def operation_id(route: APIRoute) -> str:
    """Return the name that generated clients give to a route."""
    return "_".join([*(str(tag).replace(" ", "_") for tag in route.tags), route.name])


def _complete(document: Described, scopes: Mapping[tuple[str, str], list[str]]) -> Described:
    """Add summaries, scopes and the problems of each operation."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    for name in _REPLACED:
        schemas.pop(name, None)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "security" in operation:
                required = scopes.get((method, path), [])
                operation["security"] = [dict.fromkeys(each, required) for each in operation["security"]]
            operation["summary"] = _first_sentence(operation["description"])
            responses = operation["responses"]
            for status, response in problems(*_possible_statuses(path, operation)).items():
                if str(status) not in responses or status == 422:  # noqa: PLR2004 - FastAPI's own text is replaced
                    responses[str(status)] = response
    return document


def _first_sentence(text: str) -> str:
    """Return the first sentence without its full stop: what a route does, in a few words."""
    return " ".join(text.split()).partition(". ")[0].removesuffix(".")


def _scopes(routes: Sequence[BaseRoute]) -> dict[tuple[str, str], list[str]]:
    """Return the scopes that each route requires, by method and path."""
    found: dict[tuple[str, str], list[str]] = {}
    for route in routes:
        if isinstance(route, APIRoute):
            scopes = sorted(_required(route.dependant))
            found |= {(method.lower(), route.path_format): scopes for method in route.methods or ()}
        elif inner := getattr(route, "original_router", None):
            found |= _scopes(inner.routes)
    return found


def _required(dependant: Dependant) -> Iterator[str]:
    if isinstance(dependant.call, Require):
        yield dependant.call.scope
    for inner in dependant.dependencies:
        yield from _required(inner)


def _possible_statuses(path: str, operation: Described) -> Iterator[int]:
    """Yield the error statuses that any such request can get; a route declares further ones itself."""
    yield 429
    if "security" in operation:
        yield from (401, 403)
    if "{" in path:
        yield 404
    if "requestBody" in operation:
        yield from (400, 408, 413)
    if path not in {"/livez", "/readyz"}:
        yield from (422, 503)
