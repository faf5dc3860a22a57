"""Authenticates requests and checks scopes. Programs send `Authorization: Bearer …`, browsers a session cookie."""

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
"""Cookie name prefix: browsers accept such a cookie only from this host, over TLS, for all paths (RFC 6265bis)."""
OWN_HEADER: Final = "x-reelstate"
"""A page of another site can make a browser send our cookie, but not this header."""
WRONG_KEY_COST: Final = 20.0
"""Rate-limit tokens that a wrong key costs its address."""
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
    description=f"A session of a browser; over HTTPS the cookie is called `{HOST_ONLY}{COOKIE}`.",
)


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller: a key and the user it belongs to."""

    key_id: str
    name: str
    user_id: str
    scopes: frozenset[Scope]
    account: str
    """The key that limits are counted by; for a session, the key that opened it."""

    @property
    def admin(self) -> bool:
        return Scope.ADMIN in self.scopes

    @property
    def owner(self) -> str | None:
        """The user whose jobs the caller sees and changes; None for all users."""
        return None if self.admin else self.user_id

    @property
    def actor(self) -> str:
        """The actor that events record."""
        return f"{Actor.OPERATOR}:{self.name}" if self.admin else f"{Actor.USER}:{self.user_id}"

    def may(self, scope: Scope) -> bool:
        return self.admin or scope in self.scopes


@dataclass(frozen=True, slots=True)
class Require:
    """A dependency that admits only keys with the given scope."""

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
    """Return the caller of a route that needs no key, or None; an expired session counts as none."""
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
    """Refuse a request without a valid key; scopes and rates are checked later."""
    await _authenticated(request, context_of(request), await bearer(request), await cookie(request))


async def _principal(
    request: Request, context: Context, sent: HTTPAuthorizationCredentials | None, session: str | None
) -> Principal:
    key = await _authenticated(request, context, sent, session)
    account = key.parent or key.id
    if wait := context.per_key.take(account):
        raise TooManyRequests("too many requests with this key", retry_after=wait)
    return Principal(key.id, key.name, key.user_id, key.scopes, account)


async def _authenticated(
    request: Request, context: Context, sent: HTTPAuthorizationCredentials | None, session: str | None
) -> Key:
    try:
        with reading(request, context):
            return await _key(request, context, sent, session)
    except KeyRefused:
        if sent is not None:  # only a sent key can be a guess; browsers keep sending expired sessions
            context.per_address.spill(address_of(request), WRONG_KEY_COST)
        raise


async def _key(
    request: Request, context: Context, sent: HTTPAuthorizationCredentials | None, session: str | None
) -> Key:
    if sent is not None:
        return await context.keys.authenticate(sent.credentials)
    if session is None:
        raise KeyRefused("the request has no key", hint="send it as `Authorization: Bearer reel_…`")
    require_own_page(request)
    return await context.keys.authenticate(session, KeyKind.SESSION)


def require_own_page(request: Request) -> None:
    """Refuse a write with a cookie alone: a page of another site could have made the browser send it."""
    if request.method not in SAFE and OWN_HEADER not in request.headers:
        raise ScopeMissing(
            "a session cookie alone may not change anything", hint=f"send the header {OWN_HEADER} with it, or a key"
        )


def reading(request: Request, context: Context) -> AbstractContextManager[None]:
    """Shorten the database timeout of a request that only reads: the client can repeat it."""
    return timeout_of(context.settings.read_timeout) if request.method in SAFE else nullcontext()


def cookie_name(request: HTTPConnection) -> str:
    """Return the name of the session cookie. Over TLS the plain name is ignored: another host may have set it."""
    return HOST_ONLY + COOKIE if request.url.scheme == "https" else COOKIE


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""
