"""The house as a whole: what there is to do, and the settings in force."""

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

router = APIRouter(prefix="/api/v1", tags=["house"], route_class=JsonRoute)


@router.get("/queue", response_model=QueueDocument)
async def queue(engine: OnEngine, principal: Reader) -> Document:
    """How many jobs are in each status, and what waits and runs of each pipeline; of one's own jobs, for users."""
    return dataclasses.asdict(await engine.queue(owner=principal.owner))


@router.get("/settings", response_model=list[SettingDocument])
async def settings(context: InContext, _: Admin) -> list[Document]:
    """Every setting of the server with its meaning; secrets are not shown."""
    return [dataclasses.asdict(setting) for setting in describe_settings(context.settings, os.environ)]
