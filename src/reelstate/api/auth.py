"""Who asks, and what they may do. Programs send a key as `Authorization: Bearer …`, the dashboard a cookie."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import HTTPConnection

from reelstate.api.context import Context, InContext, context_of
from reelstate.connections.timeouts import timeout_of
from reelstate.core.errors import KeyRefused, ScopeMissing, TooManyRequests
from reelstate.core.machine import Actor
from reelstate.services.keys import Key, KeyKind, Scope

COOKIE: Final = "reelstate_session"
HOST_ONLY: Final = "__Host-"
"""Before the name of a cookie: browsers let only this host set it, over TLS, for all its paths (RFC 6265bis)."""
OWN_HEADER: Final = "x-reelstate"
"""A page of another site can make a browser send our cookie, but not this header."""
FINE: Final = 20.0
"""Tokens that a wrong key costs its address."""
SAFE: Final = ("GET", "HEAD", "OPTIONS")

bearer = HTTPBearer(auto_error=False, scheme_name="key", description="A key: `reel keys create`.")


class SessionCookie(APIKeyCookie):
    """Reads the session from the cookie that goes with the scheme of the request."""

    async def __call__(self, request: HTTPConnection) -> str | None:
        return request.cookies.get(cookie_name(request))


cookie = SessionCookie(
    name=COOKIE,
    auto_error=False,
    scheme_name="session",
    description=f"A session of the dashboard; over HTTPS the cookie is called `{HOST_ONLY}{COOKIE}`.",
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks: a key, and the user that it belongs to."""

    key_id: str
    name: str
    user_id: str
    scopes: frozenset[Scope]
    account: str
    """What limits count by: the key, and for a session the one that it was opened with."""

    @property
    def admin(self) -> bool:
        return Scope.ADMIN in self.scopes

    @property
    def owner(self) -> str | None:
        """Whose jobs are seen and changed; None for everybody's."""
        return None if self.admin else self.user_id

    @property
    def actor(self) -> str:
        """How the record names them."""
        return f"{Actor.OPERATOR}:{self.name}" if self.admin else f"{Actor.USER}:{self.user_id}"

    def may(self, scope: Scope) -> bool:
        return self.admin or scope in self.scopes


@dataclass(frozen=True, slots=True)
class Require:
    """Depend on one of these to let in those whose key has the scope."""

    scope: Scope

    async def __call__(
        self,
        request: Request,
        context: InContext,
        sent: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
        session: Annotated[str | None, Depends(cookie)],
    ) -> Principal:
        principal = await _principal(request, context, sent, session)
        if not principal.may(self.scope):
            command = "reel workers register" if self.scope is Scope.WORKER else "reel keys create"
            raise ScopeMissing(
                f"the key has no scope {self.scope}", hint=f"ask an admin for a key with it: `{command}`"
            )
        return principal


Reader = Annotated[Principal, Depends(Require(Scope.READ))]
Writer = Annotated[Principal, Depends(Require(Scope.WRITE))]
Remote = Annotated[Principal, Depends(Require(Scope.WORKER))]
Admin = Annotated[Principal, Depends(Require(Scope.ADMIN))]


async def maybe_principal(
    request: Request,
    context: InContext,
    sent: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
    session: Annotated[str | None, Depends(cookie)],
) -> Principal | None:
    """Who asks, where nobody has to say; a session that is over says nothing."""
    if sent is not None:
        return await _principal(request, context, sent, session)
    if session is None:
        return None
    try:
        return await _principal(request, context, sent, session)
    except KeyRefused:
        return None


MaybePrincipal = Annotated[Principal | None, Depends(maybe_principal)]


async def require_key(request: Request) -> None:
    """Refuse whoever has no key in force; what it is good for, and how often, is asked later."""
    await _authenticated(request, context_of(request), await bearer(request), await cookie(request))


async def _principal(
    request: Request, context: Context, sent: HTTPAuthorizationCredentials | None, session: str | None
) -> Principal:
    key = await _authenticated(request, context, sent, session)
    account = key.parent or key.id
    if wait := context.per_key.take(account):
        raise TooManyRequests("this key asks too often", retry_after=wait)
    return Principal(key.id, key.name, key.user_id, key.scopes, account)


async def _authenticated(
    request: Request, context: Context, sent: HTTPAuthorizationCredentials | None, session: str | None
) -> Key:
    try:
        with reading(request, context):
            return await _key(request, context, sent, session)
    except KeyRefused:
        if sent is not None:  # nobody guesses without one, and a browser goes on sending a session that is over
            context.per_address.spill(address_of(request), FINE)
        raise


async def _key(
    request: Request, context: Context, sent: HTTPAuthorizationCredentials | None, session: str | None
) -> Key:
    if sent is not None:
        return await context.keys.authenticate(sent.credentials)
    if session is None:
        raise KeyRefused("no key came with the request", hint="send it as `Authorization: Bearer reel_…`")
    require_own_page(request)
    return await context.keys.authenticate(session, KeyKind.SESSION)


def require_own_page(request: Request) -> None:
    """Refuse a change that a page of another site may have had a browser ask for."""
    if request.method not in SAFE and OWN_HEADER not in request.headers:
        raise ScopeMissing("a cookie alone changes nothing", hint=f"send the header {OWN_HEADER} with it, or a key")


def reading(request: Request, context: Context) -> AbstractContextManager[None]:
    """What only reads does not wait long for a database that is away: whoever asks may ask again."""
    return timeout_of(context.settings.read_timeout) if request.method in SAFE else nullcontext()


def cookie_name(request: HTTPConnection) -> str:
    """The name of the session's cookie. A plain one that came over TLS may have been set by another host."""
    return HOST_ONLY + COOKIE if request.url.scheme == "https" else COOKIE


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""
