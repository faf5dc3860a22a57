"""Routes about the deployment as a whole: the queue and the settings."""

from __future__ import annotations

import dataclasses
import os

from fastapi import APIRouter

from reelstate.api.auth import Admin, Reader
from reelstate.api.body import JsonRoute
from reelstate.api.context import InContext, OnEngine
from reelstate.api.schemas import QueueDocument, SettingDocument
from reelstate.config import describe_settings
from reelstate.documents import Document

router = APIRouter(prefix="/api/v1", tags=["deployment"], route_class=JsonRoute)


@router.get("/queue", response_model=QueueDocument)
async def queue(engine: OnEngine, principal: Reader) -> Document:
    """Count jobs by status and tasks by pipeline. A user's key counts that user's jobs."""
    return dataclasses.asdict(await engine.queue(owner=principal.owner))


@router.get("/settings", response_model=list[SettingDocument])
async def settings(context: InContext, _: Admin) -> list[Document]:
    """List the settings of the server. Secrets are not shown."""
    return [dataclasses.asdict(setting) for setting in describe_settings(context.settings, os.environ)]
