"""Keys: create, list, rotate and revoke them. For admins; the same service as `reel keys`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field

from reelstate.api.auth import Admin, Principal
from reelstate.api.body import JsonRoute
from reelstate.api.context import InContext
from reelstate.api.schemas import Input, like
from reelstate.core.errors import KeyRefused
from reelstate.documents import Document, key_document
from reelstate.services.keys import MAX_LIFETIME, TEXT_LIMIT, Key, MadeKey, Scope

router = APIRouter(prefix="/api/v1/keys", tags=["keys"], route_class=JsonRoute)
KeyId = Annotated[str, Path(max_length=64, description="The key's public id: the part after `reel_`.")]
Seconds = Annotated[float, Field(ge=0, le=MAX_LIFETIME)]


async def current_admin(context: InContext, principal: Admin) -> Principal:
    """The admin who asks, looked up anew: a key that was revoked a moment ago must not make another."""
    if not await context.keys.in_force(principal.key_id, fresh=True):
        raise KeyRefused("the key is not in force any more", hint="use another admin key")
    return principal


CurrentAdmin = Annotated[Principal, Depends(current_admin)]


class NewKey(Input):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {"name": "ada-laptop", "scopes": ["jobs:read", "jobs:write"], "user_id": "ada"},
        }
    )

    name: str = Field(max_length=TEXT_LIMIT, description="Who or what uses it; for scope `worker`, the worker's name.")
    scopes: list[Scope] = Field(min_length=1, max_length=len(Scope), description="What it may do.")
    user_id: str = Field(
        default="", max_length=TEXT_LIMIT, description="The user whose jobs it sees; an admin key sees everybody's."
    )
    lifetime: Seconds | None = Field(default=None, description="Seconds until it expires; never if left out.")


class Rotation(Input):
    overlap: Seconds = Field(default=86_400.0, description="Seconds for which the old key still works.")
    lifetime: Seconds | None = Field(default=None, description="Seconds until the new key expires; never if left out.")


@like(Key)
class KeyDocument(BaseModel):
    scopes: list[Scope]


class NewKeyDocument(KeyDocument):
    key: str = Field(description="The key itself, `reel_<id>_<secret>`. It is stored nowhere and is not shown again.")


class RevokedKey(BaseModel):
    id: str
    revoked: bool = Field(description="Whether it was in force until now.")


@router.get("", response_model=list[KeyDocument])
async def keys(context: InContext, _: Admin) -> list[Document]:
    """List keys. Expired and revoked ones are included; no secret is shown."""
    return [key_document(key) for key in await context.keys.all()]


@router.post("", status_code=201, response_model=NewKeyDocument)
async def create(context: InContext, principal: CurrentAdmin, body: NewKey) -> Document:
    """Create a key. The answer holds the key itself, which is shown only once."""
    made = await context.keys.create(
        body.name, scopes=body.scopes, user_id=body.user_id, lifetime=body.lifetime, actor=principal.actor
    )
    return _shown_once(made)


@router.post("/{key_id}/rotate", status_code=201, response_model=NewKeyDocument)
async def rotate(context: InContext, principal: CurrentAdmin, key_id: KeyId, body: Rotation | None = None) -> Document:
    """Rotate a key. The new key has the same scopes and is shown only once; the old one ends after the overlap."""
    terms = body or Rotation()
    made = await context.keys.rotate(key_id, overlap=terms.overlap, lifetime=terms.lifetime, actor=principal.actor)
    return _shown_once(made)


@router.post("/{key_id}/revoke", response_model=RevokedKey)
async def revoke(context: InContext, principal: CurrentAdmin, key_id: KeyId) -> Document:
    """Revoke a key and its sessions. Every server refuses it within five seconds."""
    return {"id": key_id, "revoked": await context.keys.revoke(key_id, actor=principal.actor)}


def _shown_once(made: MadeKey) -> Document:
    return {**key_document(made.key), "key": made.text}
