"""Signing in to the dashboard: a key or a one-time code is traded for a session, kept in a cookie."""

from __future__ import annotations

import contextlib
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.security import HTTPAuthorizationCredentials
from pydantic import BaseModel, ConfigDict

from reelstate.api.auth import FINE, address_of, bearer, cookie, cookie_name, require_own_page
from reelstate.api.body import JsonRoute
from reelstate.api.context import Context, InContext
from reelstate.api.errors import problems
from reelstate.config import Settings
from reelstate.core.errors import KeyRefused
from reelstate.services.keys import SESSION_LIFETIME, KeyKind, MadeKey

HOME: Final = "/docs"
"""Where somebody who has signed in is sent."""
MAX_BODY: Final = 1024
"""Bytes of a body that comes from somebody without a key."""


class SignInRoute(JsonRoute):
    """Anybody may send a body here, so it is a small one."""

    def largest(self, settings: Settings) -> int:
        return min(MAX_BODY, super().largest(settings))


router = APIRouter(tags=["sign in"], route_class=SignInRoute, responses=problems(401))


class SignIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"example": {"key": "reel_0123456789ab_…"}})

    key: str


class SessionDocument(BaseModel):
    """Who is signed in."""

    name: str
    user_id: str
    scopes: list[str]


@router.get("/signin", status_code=303, response_class=RedirectResponse)
async def trade(request: Request, context: InContext, code: Annotated[str, Query(max_length=200)]) -> RedirectResponse:
    """Trade a one-time code, as `reel serve` prints one, for a session."""
    try:
        session = await context.keys.redeem_code(code)
    except KeyRefused:
        context.per_address.spill(address_of(request), FINE)
        raise
    response = RedirectResponse(HOME, 303)
    _set_cookie(response, request, session)
    return response


@router.post("/signin")
async def sign_in(request: Request, context: InContext, body: SignIn, response: Response) -> SessionDocument:
    """Trade a key for a session."""
    try:
        key = await context.keys.authenticate(body.key)
    except KeyRefused:
        context.per_address.spill(address_of(request), FINE)
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
    """End the session, if there still is one. A key that is sent along stays in force."""
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
    """An address that signs its first visitor in with what this key may do; None when the key is not in force."""
    try:
        key = await context.keys.authenticate(key_text)
    except KeyRefused:
        return None
    return f"{base}/signin?code={await context.keys.create_code(key)}"
