"""The state machines: legal transitions and the actors that may make them."""

from __future__ import annotations

from enum import StrEnum

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from reelstate.api.auth import Reader
from reelstate.api.body import JsonRoute
from reelstate.api.schemas import MachineDocument
from reelstate.core.diagram import mermaid, svg
from reelstate.core.machine import MACHINES
from reelstate.documents import Document, machine_document

router = APIRouter(prefix="/api/v1/machines", tags=["machines"], route_class=JsonRoute)


class MachineName(StrEnum):
    JOB = "job"
    TASK = "task"
    WORKER = "worker"


class SvgResponse(Response):
    media_type = "image/svg+xml"


@router.get("", response_model=list[MachineDocument])
async def machines(_: Reader) -> list[Document]:
    """List the state machines."""
    return [machine_document(machine) for machine in MACHINES.values()]


@router.get("/{entity}", response_model=MachineDocument)
async def machine(_: Reader, entity: MachineName) -> Document:
    """Get a state machine."""
    return machine_document(MACHINES[entity])


@router.get("/{entity}/mermaid", response_class=PlainTextResponse)
async def as_mermaid(_: Reader, entity: MachineName) -> str:
    """Get a state machine as Mermaid source."""
    return mermaid(MACHINES[entity])


@router.get("/{entity}/svg", response_class=SvgResponse, responses={200: {"content": {"image/svg+xml": {}}}})
async def as_svg(_: Reader, entity: MachineName) -> SvgResponse:
    """Get a state machine as an SVG picture."""
    return SvgResponse(svg(MACHINES[entity]))
