"""The description of the API (OpenAPI 3.1): what FastAPI knows of it, and the problems of any route."""

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
    "Submit jobs, follow them, and keep the house in order.\n\n"
    "Programs send a key: `Authorization: Bearer reel_…`, made by `reel keys create`. Errors are problem documents "
    "(RFC 9457) with a `hint`. Listings come in pages: `after` of one page asks for the next."
)
_REPLACED: Final = ("HTTPValidationError", "ValidationError")
Described = dict[str, Any]


def describe(app: FastAPI) -> None:
    """Complete the description of an application, once, when somebody asks for it."""
    plain = app.openapi

    def complete() -> Described:
        if app.openapi_schema is None:
            app.openapi_schema = _completed(plain(), _scopes(app.routes))
        return app.openapi_schema

    app.openapi = complete  # type: ignore[method-assign]


def operation_id(route: APIRoute) -> str:
    """What programs that are made from the description call it."""
    return "_".join([*(str(tag).replace(" ", "_") for tag in route.tags), route.name])


def _completed(document: Described, scopes: Mapping[tuple[str, str], list[str]]) -> Described:
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
    for name in _REPLACED:
        schemas.pop(name, None)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "security" in operation:
                wanted = scopes.get((method, path), [])
                operation["security"] = [dict.fromkeys(each, wanted) for each in operation["security"]]
            told = operation["responses"]
            for status, response in problems(*_possible(path, operation)).items():
                if str(status) not in told or status == 422:  # noqa: PLR2004 - FastAPI describes its own answer there
                    told[str(status)] = response
    return document


def _scopes(routes: Sequence[BaseRoute]) -> dict[tuple[str, str], list[str]]:
    """What each route asks of a key, by method and path."""
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


def _possible(path: str, operation: Described) -> Iterator[int]:
    """What may go wrong with any request of that kind; what else may, its route says."""
    yield 429
    if "security" in operation:
        yield from (401, 403)
    if "{" in path:
        yield 404
    if "requestBody" in operation:
        yield from (400, 408, 413)
    if path not in {"/livez", "/readyz"}:
        yield from (422, 503)
