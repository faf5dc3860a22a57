"""Sign in and out: exchanges a key or a one-time code for a session cookie."""

from __future__ import annotations

import contextlib
import time
from importlib.metadata import version
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import WRONG_KEY_COST, Reader, address_of, bearer, cookie, cookie_name, require_own_page
from reelstate.api.body import JsonRoute
from reelstate.api.context import Context, InContext
from reelstate.api.dashboard import BASE, prefix_of
from reelstate.api.errors import problems
from reelstate.config import Settings
from reelstate.core.errors import KeyRefused
from reelstate.services.keys import SESSION_LIFETIME, KeyKind, MadeKey

SOFTWARE: Final = version("reelstate")
MAX_BODY: Final = 1024
"""Bytes of a body that is read before any key is checked."""


class SignInRoute(JsonRoute):
    """A route that reads a small body without a key."""

    def max_bytes(self, settings: Settings) -> int:
        return min(MAX_BODY, super().max_bytes(settings))


router = APIRouter(tags=["sign in"], route_class=SignInRoute, responses=problems(401))


class SignIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"key": "reel_0123456789ab_…"}})

    key: str


class SessionDocument(BaseModel):
    """Who is signed in."""

    name: str
    user_id: str
    scopes: list[str]


class Session(SessionDocument):
    """Who is signed in, and what the server accepts."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "ops",
                "user_id": "",
                "scopes": ["admin"],
                "version": "0.1.0",
                "now": 1767268805000,
                "upload_limit": 214748364800,
                "upload_quota": 0,
            }
        }
    )

    version: str = Field(description="Of the software.")
    now: int = Field(description="The time of the server in milliseconds since 1970.")
    upload_limit: int = Field(description="Bytes of the largest upload.")
    upload_quota: int = Field(description="Bytes that the uploads of a user may take together.")


@router.get("/api/v1/session")
async def session(context: InContext, principal: Reader) -> Session:
    """Get who is signed in, with which scopes, and what the server accepts. 401 when nobody is."""
    return Session(
        name=principal.name,
        user_id=principal.user_id,
        scopes=sorted(principal.scopes),
        version=SOFTWARE,
        now=round(time.time() * 1000),
        upload_limit=context.settings.input_limit,
        upload_quota=context.settings.upload_quota,
    )


@router.get("/signin", status_code=303, response_class=RedirectResponse)
async def sign_in_with_code(
    request: Request, context: InContext, code: Annotated[str, Query(max_length=200)]
) -> RedirectResponse:
    """Sign in with a one-time code, as printed by `reel serve`; sends the browser to the dashboard."""
    home = f"{prefix_of(request)}{BASE}"
    try:
        session = await context.keys.redeem_code(code)
    except KeyRefused:
        context.per_address.spill(address_of(request), WRONG_KEY_COST)
        if "text/html" in request.headers.get(
            "accept", ""
        ):  # it may be signed in already; else the page asks for a key
            return RedirectResponse(f"{home}?signin=expired", 303)
        raise
    response = RedirectResponse(home, 303)
    _set_cookie(response, request, session)
    return response


@router.post("/signin")
async def sign_in(request: Request, context: InContext, body: SignIn, response: Response) -> SessionDocument:
    """Sign in with a key."""
    try:
        key = await context.keys.authenticate(body.key)
    except KeyRefused:
        context.per_address.spill(address_of(request), WRONG_KEY_COST)
        raise
    _set_cookie(response, request, await context.keys.open_session(key))
    return SessionDocument(name=key.name, user_id=key.user_id, scopes=sorted(key.scopes))


@router.post("/signout", status_code=204)
async def sign_out(
    request: Request,
    context: InContext,
    sent: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    session: Annotated[str | None, Depends(cookie)],
) -> Response:
    """Sign out. Ends the session; a key that is sent along stays valid."""
    if session is not None:
        with contextlib.suppress(KeyRefused):
            key = await context.keys.authenticate(session, KeyKind.SESSION)
            if sent is None:
                require_own_page(request)
            await context.keys.close_session(key.id)
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(request), httponly=True, samesite="strict", secure=_is_secure(request))
    return response


def _set_cookie(response: Response, request: Request, session: MadeKey) -> None:
    response.set_cookie(
        cookie_name(request),
        session.text,
        max_age=int(SESSION_LIFETIME),
        httponly=True,
        samesite="strict",
        secure=_is_secure(request),
    )


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


async def sign_in_url(base: str, context: Context, key_text: str) -> str | None:
    """Return an address that signs in its first visitor with the scopes of a key; None for an invalid key."""
    try:
        key = await context.keys.authenticate(key_text)
    except KeyRefused:
        return None
    return f"{base}/signin?code={await context.keys.create_code(key)}"
