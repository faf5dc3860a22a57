"""Whether the server lives, whether it can serve, and how the house is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel

from reelstate.api.context import Check, InContext
from reelstate.api.errors import problems
from reelstate.core.errors import ReelstateError

logger = logging.getLogger("reelstate.health")
router = APIRouter(tags=["health"])
PATIENCE: Final = 5.0
"""Seconds that one check may take."""
AWAY: Final = 503


class Alive(BaseModel):
    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """Each check that was made, with `ok` or what is wrong."""

    status: Literal["ok", "unavailable"]
    checks: dict[str, str]


@router.get("/livez", responses=problems(429))
async def livez() -> Alive:
    """The process answers."""
    return Alive()


@router.get("/readyz", responses={AWAY: {"model": Ready, "description": "Something is away"}, **problems(429)})
async def readyz(context: InContext, response: Response) -> Ready:
    """Everything that requests need is there: the database at the right schema, the storage."""
    found = await checked(context.checks)
    if all(word == "ok" for word in found.values()):
        return Ready(status="ok", checks=found)
    response.status_code = AWAY
    return Ready(status="unavailable", checks=found)


async def checked(checks: Mapping[str, Check]) -> dict[str, str]:
    """What the checks found, by their names."""
    words = await asyncio.gather(*(_word(name, check) for name, check in checks.items()))
    return dict(zip(checks, words, strict=True))


async def _word(name: str, check: Check) -> str:
    """The caller may be anybody, so they are told that it is away; the log is told why."""
    try:
        await asyncio.wait_for(check(), PATIENCE)
    except TimeoutError:
        logger.warning("%s is not ready: it does not answer within %g s", name, PATIENCE)
    except (ReelstateError, OSError) as error:
        logger.warning("%s is not ready: %s", name, error)
    else:
        return "ok"
    return "unavailable"
