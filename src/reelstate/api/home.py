"""The public entry page with links."""

from __future__ import annotations

from html import escape
from importlib.metadata import version
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field

from reelstate.api.description import TITLE
from reelstate.api.docs import POLICY, STYLE

router = APIRouter(tags=["home"])
SOFTWARE: Final = version("reelstate")
LINKS: Final = {
    "docs": ("/docs", "the API for people"),
    "openapi": ("/openapi.json", "the API for programs"),
    "health": ("/health", "the health of the server"),
}
SIGN_IN: Final = "/signin"
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/html": {"schema": {"type": "string"}}}}}


class Home(BaseModel):
    name: str
    version: str = Field(description="Of the software.")
    links: dict[str, str] = Field(description="Paths by name.")


@router.get("/", response_model=Home, responses=_ANSWERS)
async def home(request: Request) -> Response:
    """List the entry points. Browsers get a page, programs JSON."""
    if "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_page(), headers={"content-security-policy": POLICY, "vary": "accept"})
    links = {name: path for name, (path, _) in LINKS.items()}
    found = Home(name=TITLE, version=SOFTWARE, links={**links, "signin": SIGN_IN})
    return JSONResponse(found.model_dump(), headers={"vary": "accept"})


def _page() -> str:
    rows = "".join(f'<tr><td><a href="{path}">{path}</a><td>{escape(text)}' for path, text in LINKS.values())
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(TITLE)}</title><style>{STYLE}</style>"
        f"<h1>{escape(TITLE)} {escape(SOFTWARE)}</h1><table>{rows}</table>"
        f"<p>To sign in, open the address that the server prints when it starts, or POST a key to {SIGN_IN}.</p></html>"
    )
