"""Maps errors to HTTP statuses and renders them as problem documents (RFC 9457)."""

from __future__ import annotations

import http
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from reelstate.core import errors
from reelstate.core.errors import InvalidRequest, ReelstateError

PROBLEM: Final = "application/problem+json"
TYPE: Final = "urn:reelstate:error:"
"""Prefix of a problem's type; the name of the error follows, for example `not-found`."""
RETRY_AFTER: Final = 5
"""Seconds after which a client may retry when the server lacks something."""

STATUSES: Final[Mapping[type[ReelstateError], int]] = {
    errors.InvalidRequest: 422,
    errors.TooLarge: 413,
    errors.CursorExpired: 410,
    errors.JobArchived: 409,
    errors.NotFound: 404,
    errors.InvalidTransition: 409,
    errors.VersionConflict: 412,
    errors.SelectionChanged: 409,
    errors.UploadConflict: 409,
    errors.UploadBroken: 408,
    errors.WaitTimeout: 504,
    errors.KeyRefused: 401,
    errors.AccessRefused: 403,
    errors.TooManyRequests: 429,
    errors.QuotaExceeded: 413,
    errors.WorkerRefused: 403,
    errors.WorkerUnknown: 404,
    errors.LeaseLost: 409,
    errors.StoreError: 503,
    errors.StoreFull: 507,
    errors.GuardRefused: 409,
    errors.CorruptState: 409,
    errors.RedisUnavailable: 503,
    errors.LockTaken: 409,
    errors.LockLost: 409,
    errors.StorageError: 503,
    errors.StorageFull: 507,
    errors.StorageMissing: 404,
    errors.StorageConflict: 409,
    errors.StorageDamaged: 422,
    ReelstateError: 500,
}
"""An error that is not listed has the status of its nearest base class."""

TITLES: Final = {413: "Content Too Large", 422: "Unprocessable Content"}
"""The phrases of RFC 9110, which Python has since 3.13."""
STATUS_TYPES: Final = {404: "no-route", 405: "method-not-allowed", 408: "too-slow", 413: "too-large"}
MAX_SHOWN_PATH: Final = 200
"""Characters of a request path that an error repeats."""
FIRST_INTERNAL_STATUS: Final = 500
"""From this status on, details go to the log only; the client learns the kind of error."""


class Problem(BaseModel):
    """An error: what is wrong and what to do."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": f"{TYPE}not-found",
                "title": "Not Found",
                "status": 404,
                "detail": "there is no job 7",
                "hint": "check the id",
            }
        }
    )

    type: str = Field(description="Which error: `urn:reelstate:error:` and its name.")
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="What was wrong.")
    hint: str | None = Field(default=None, description="What to do.")
    field: str | None = Field(default=None, description="Where: the path to a field, or a parameter.")
    entity: str | None = Field(default=None, description="What does not exist or can't change: job, video, worker, ….")
    origin: str | None = Field(default=None, description="The status from which a change is not allowed.")
    used: int | None = Field(default=None, description="What is used of a quota: bytes, or uploads.")
    limit: int | None = Field(default=None, description="The limit that a value or a quota is held to.")
    position: int | None = Field(default=None, description="Where in a search the mistake is, counted from 0.")
    oldest: str | None = Field(default=None, description="The oldest cursor that can be continued from.")


def status_of(error: ReelstateError) -> int:
    return next(STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES)


def problem_of(error: ReelstateError) -> Problem:
    status = status_of(error)
    hidden = status >= FIRST_INTERNAL_STATUS
    return Problem(
        type=TYPE + _dashed(type(error).__name__),
        title=_title(status),
        status=status,
        detail=(type(error).__doc__ or "").strip().split("\n")[0] if hidden else error.message,
        hint=("try again later" if hidden else error.hint) or None,
        field=getattr(error, "field", None),
        entity=getattr(error, "entity", None),
        origin=getattr(error, "origin", None),
        used=getattr(error, "used", None),
        limit=getattr(error, "limit", None),
        position=getattr(error, "position", None),
        oldest=getattr(error, "oldest", None),
    )


def response_of(error: ReelstateError) -> JSONResponse:
    return _response(problem_of(error), _headers(error))


def malformed(detail: str, *, hint: str) -> JSONResponse:
    """Return the response to a request that is not read further; its connection is closed."""
    problem = Problem(type=f"{TYPE}malformed-request", title=_title(400), status=400, detail=detail, hint=hint)
    return _response(problem, {"Connection": "close"})


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI responses for problem statuses."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {status: {"description": _title(status), "content": {PROBLEM: {"schema": schema}}} for status in statuses}


def handle_errors(app: FastAPI) -> None:
    """Render every error of an application as a problem document."""
    app.add_exception_handler(ReelstateError, _on_reelstate_error)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_unexpected)


async def _on_reelstate_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ReelstateError)  # noqa: S101 - what it is registered for
    return response_of(error)


async def _on_validation(_: Request, error: Exception) -> JSONResponse:
    """Report the first invalid field; its value is not repeated, it may be a secret."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it is registered for
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        where = f"{first['ctx']['error']} at character {first['loc'][-1]}"
        return response_of(InvalidRequest("body", f"is not JSON: {where}", hint='quote names and strings with "…"'))
    field = _path(first["loc"])
    hint = "see /docs for the fields" if first["type"] != "extra_forbidden" else "leave it out, or check the name"
    return _response(
        Problem(
            type=f"{TYPE}invalid-request",
            title=_title(422),
            status=422,
            detail=f"{field}: {first['msg']}",
            hint=hint,
            field=field,
        )
    )


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
    status = error.status_code
    name = STATUS_TYPES.get(status, _dashed(http.HTTPStatus(status).phrase.title().replace(" ", "")))
    hint = "see /docs for the routes" if status in {404, 405} else None
    detail = str(error.detail)
    if status == http.HTTPStatus.NOT_FOUND:
        detail = f"no route matches {request.url.path[:MAX_SHOWN_PATH]}"
    elif status == http.HTTPStatus.METHOD_NOT_ALLOWED:
        detail = f"{request.method} is not allowed for {request.url.path[:MAX_SHOWN_PATH]}"
    problem = Problem(type=TYPE + name, title=_title(status), status=status, detail=detail, hint=hint)
    return _response(problem, error.headers)


async def _on_unexpected(_: Request, __: Exception) -> JSONResponse:
    """The server logs the error; the client learns only that the server failed."""
    return _response(
        Problem(
            type=f"{TYPE}unexpected",
            title=_title(500),
            status=500,
            detail="the server failed unexpectedly",
            hint="see the log of the server",
        )
    )


def _response(problem: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(
        problem.model_dump(exclude_none=True), problem.status, headers=dict(headers or {}), media_type=PROBLEM
    )


def _headers(error: ReelstateError) -> dict[str, str]:
    if isinstance(error, errors.KeyRefused):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, errors.TooManyRequests):
        return {"Retry-After": str(math.ceil(error.retry_after))}
    return {"Retry-After": str(RETRY_AFTER)} if status_of(error) == 503 else {}  # noqa: PLR2004 - a status


def _path(location: Sequence[int | str]) -> str:
    """Return the dotted path of a field, without the part of the request it is in."""
    return ".".join(str(name) for name in location[1:]) or str(location[0])


def _title(status: int) -> str:
    return TITLES.get(status) or http.HTTPStatus(status).phrase


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()
