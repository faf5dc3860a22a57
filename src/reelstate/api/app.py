"""The HTTP application: routes over an engine, one file per resource."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, FastAPI

from reelstate.api import (
    archive,
    columns,
    dashboard,
    deployment,
    docs,
    events,
    files,
    groups,
    health,
    home,
    jobs,
    keys,
    limits,
    machines,
    metrics,
    operations,
    overview,
    pauses,
    pipelines,
    playback,
    schedules,
    signin,
    states,
    uploads,
    videos,
    webhooks,
    worker,
    workers,
)
from reelstate.api.context import Context
from reelstate.api.description import DESCRIPTION, TITLE, VERSION, describe, operation_id
from reelstate.api.errors import handle_errors
from reelstate.api.gate import Gate
from reelstate.api.library import Library
from reelstate.api.rate import Buckets
from reelstate.api.remotes import Remotes
from reelstate.api.streams import Streams
from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings, checked_prefix
from reelstate.connections.breaker import Circuit
from reelstate.core.errors import RedisUnavailable
from reelstate.engine import Engine
from reelstate.services.keys import Keys
from reelstate.telemetry.metrics import Metrics

ROUTERS: Final[tuple[APIRouter, ...]] = (
    home.router,
    dashboard.router,
    docs.router,
    health.router,
    metrics.router,
    signin.router,
    operations.router,
    jobs.router,
    columns.router,
    events.router,
    states.router,
    workers.router,
    keys.router,
    archive.router,
    limits.router,
    pauses.router,
    webhooks.router,
    schedules.router,
    groups.router,
    machines.router,
    deployment.router,
    overview.router,
    pipelines.router,
    worker.router,
    files.router,
    uploads.router,
    playback.router,
    videos.router,
)


def create_app(engine: Engine, settings: Settings, counted: Metrics | None = None) -> FastAPI:
    """Create the application for an engine. Routes find what they need in `app.state.context`.

    `/metrics` shows what is `counted` in this process.
    """
    app = FastAPI(
        title=TITLE,
        version=VERSION,
        description=DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
        generate_unique_id_function=operation_id,
    )
    context = Context(
        engine,
        settings,
        Keys(engine.store, pepper=settings.key_pepper),
        per_key=Buckets(settings.rate_per_key),
        per_address=Buckets(settings.rate_per_address),
    )
    context.checks["database"] = engine.ready
    context.checks["storage"] = lambda: _check_storage(settings)
    if engine.dispatch.health().kind == "redis":  # `hybrid` works without it
        context.checks["redis"] = lambda: _check_redis(engine)
    app.state.context = context
    app.state.remotes = Remotes(engine, settings)
    app.state.streams = Streams(context)
    app.state.bundle = dashboard.Bundle()
    app.state.library = Library(engine, settings)
    app.state.metrics = counted or Metrics()
    app.state.gauges = metrics.ClusterGauges(engine)
    app.state.overviews = overview.Overviews(engine, app.state.gauges, queue_age=settings.alert_queue_age)
    for router in ROUTERS:
        app.include_router(router)
    handle_errors(app)
    app.add_middleware(Gate, context=context, prefix=checked_prefix(settings.path_prefix) or "")
    describe(app)
    return app


async def _check_storage(settings: Settings) -> None:
    await open_storage(settings.storage_url).exists("readyz")


async def _check_redis(engine: Engine) -> None:
    circuit = engine.dispatch.health().circuit
    if circuit is not None and circuit.state is not Circuit.CLOSED:
        raise RedisUnavailable(circuit.last_error)
