"""The entry point: the dashboard for browsers, links for programs."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, Field

from reelstate.api.dashboard import BASE, prefix_of
from reelstate.api.description import TITLE

router = APIRouter(tags=["home"])
SOFTWARE: Final = version("reelstate")
LINKS: Final = {
    "dashboard": BASE,
    "docs": "/docs",
    "openapi": "/openapi.json",
    "health": "/health",
    "signin": "/signin",
}
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {307: {"description": "For browsers: the dashboard"}}


class Home(BaseModel):
    name: str
    version: str = Field(description="Of the software.")
    links: dict[str, str] = Field(description="Paths by name.")


@router.get("/", response_model=Home, responses=_ANSWERS)
async def home(request: Request) -> Response:
    """List the entry points. Browsers are sent to the dashboard, programs get JSON."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse(f"{prefix_of(request)}{BASE}", 307, headers={"vary": "accept"})
    found = Home(name=TITLE, version=SOFTWARE, links=LINKS)
    return JSONResponse(found.model_dump(), headers={"vary": "accept"})
