"""The HTTP application: an engine behind routes, one file a resource."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter, FastAPI

from reelstate.api import health, jobs, signin
from reelstate.api.context import Context
from reelstate.api.errors import Problem, handle_errors
from reelstate.api.gate import Gate
from reelstate.api.rate import Buckets
from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings
from reelstate.services.engine import Engine
from reelstate.services.keys import Keys

ROUTERS: Final[tuple[APIRouter, ...]] = (health.router, signin.router, jobs.router)
DESCRIPTION: Final = "Submit jobs, follow them, and keep the house in order. Errors are problem documents (RFC 9457)."


def create_app(engine: Engine, settings: Settings) -> FastAPI:
    """An application on this engine. `app.state.context` is what its routes work with."""
    app = FastAPI(
        title="Reelstate",
        version="1",
        description=DESCRIPTION,
        openapi_url="/openapi.json",
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    context = Context(
        engine,
        settings,
        Keys(engine.store, pepper=settings.key_pepper),
        per_key=Buckets(settings.rate_per_key),
        per_address=Buckets(settings.rate_per_address),
    )
    context.checks["database"] = engine.ready
    context.checks["storage"] = lambda: _see_storage(settings)
    app.state.context = context
    for router in ROUTERS:
        app.include_router(router)
    handle_errors(app)
    app.add_middleware(Gate, context=context)
    describe = app.openapi
    app.openapi = lambda: _described(app, describe())  # type: ignore[method-assign]
    return app


def _described(app: FastAPI, document: dict[str, Any]) -> dict[str, Any]:
    """The description, with the problem that every route may answer with."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas.setdefault("Problem", Problem.model_json_schema())
    app.openapi_schema = document
    return document


async def _see_storage(settings: Settings) -> None:
    await open_storage(settings.storage_url).exists("readyz")
