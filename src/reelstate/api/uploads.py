"""Resumable uploads by the tus 1.0 protocol: create, get the offset, append, delete.

Clients exist for every language; curl works too. See https://tus.io/protocols/resumable-upload.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from datetime import datetime
from email.utils import format_datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from reelstate.api.auth import Writer
from reelstate.api.body import JsonRoute, stream_body
from reelstate.api.digests import ContentDigest, ReprDigest, header_of, sha256_in
from reelstate.api.errors import problems
from reelstate.api.library import InLibrary
from reelstate.api.schemas import LARGEST_ID
from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.documents import Document
from reelstate.library.uploads import Upload

PREFIX: Final = "/api/v1/uploads"
TUS: Final = "1.0.0"
EXTENSIONS: Final = "creation,creation-with-upload,expiration,termination"
PIECE: Final = "application/offset+octet-stream"
RESUMABLE: Final = {"Tus-Resumable": TUS}
LONGEST_METADATA: Final = 4096
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {PIECE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


async def require_tus(
    tus_resumable: Annotated[str | None, Header(max_length=20, description="1.0.0; may be omitted.")] = None,
) -> None:
    """Refuse other versions of tus."""
    if tus_resumable not in (None, TUS):
        raise HTTPException(412, f"tus {tus_resumable} is not supported", headers={"Tus-Version": TUS, **RESUMABLE})


router = APIRouter(
    prefix=PREFIX,
    tags=["uploads"],
    route_class=JsonRoute,
    dependencies=[Depends(require_tus)],
    responses=problems(412),
)
UploadId = Annotated[str, Path(max_length=64, description="The upload's id.")]
Offset = Annotated[int, Header(ge=0, le=LARGEST_ID, description="The current offset of the upload.")]


class UploadDocument(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "id": "0d0b1b0c6f7c4b0e9d7a5d1b2c3d4e5f",
                "name": "video.mov",
                "length": 1_073_741_824,
                "received": 536_870_912,
                "complete": False,
                "sha256": None,
                "created_at": "2026-01-01T12:00:00Z",
                "expires_at": "2026-01-02T12:00:00Z",
            }
        }
    )

    id: str
    name: str
    length: int | None
    received: int = Field(description="Bytes received; the next request starts here.")
    complete: bool
    sha256: str | None = Field(description="Of the whole file, once it is complete.")
    created_at: datetime
    expires_at: datetime = Field(description="When it is deleted, unless more bytes arrive.")


@router.options("", status_code=204)
async def discover(library: InLibrary) -> Response:
    """List the supported upload protocol versions and extensions."""
    supported = {"Tus-Version": TUS, "Tus-Extension": EXTENSIONS, "Tus-Max-Size": str(library.receiver.limit)}
    return Response(status_code=204, headers={**RESUMABLE, **supported})


@router.post(
    "",
    status_code=201,
    response_model=UploadDocument,
    responses=problems(408, 409, 413, 507),
)
async def create(
    request: Request,
    library: InLibrary,
    principal: Writer,
    response: Response,
    upload_length: Annotated[int, Header(ge=1, le=LARGEST_ID, description="Size of the whole file in bytes.")],
    upload_metadata: Annotated[
        str | None, Header(max_length=LONGEST_METADATA, description="`filename` and its value in base64.")
    ] = None,
    repr_digest: ReprDigest = None,
    content_digest: ContentDigest = None,
) -> Document:
    """Create an upload. A body of type `application/offset+octet-stream` is its first chunk."""
    whole, first = sha256_in("repr-digest", repr_digest), sha256_in("content-digest", content_digest)
    upload = await library.receiver.create(
        user_id=principal.user_id, length=upload_length, name=_name(upload_metadata), digest=whole
    )
    response.headers["Location"] = f"{PREFIX}/{upload.id}"
    if request.headers.get("content-type") == PIECE:
        upload = await _receive(library, upload, stream_body(request, principal.key_id), 0, first)
    response.headers.update(_headers(upload))
    return _document(upload)


@router.head("/{upload_id}", include_in_schema=False)
async def offset(library: InLibrary, principal: Writer, upload_id: UploadId) -> Response:
    """Get the offset of an upload."""
    return Response(headers=_headers(await library.receiver.find(upload_id, owner=principal.owner)))


@router.get("/{upload_id}", response_model=UploadDocument)
async def show(library: InLibrary, principal: Writer, upload_id: UploadId, response: Response) -> Document:
    """Get an upload and its offset. HEAD returns them as headers."""
    upload = await library.receiver.find(upload_id, owner=principal.owner)
    response.headers.update(_headers(upload))
    return _document(upload)


@router.patch(
    "/{upload_id}",
    status_code=204,
    responses={
        204: {"description": "The bytes were received: Upload-Offset is the new offset"},
        **problems(408, 409, 413, 415, 507),
    },
    openapi_extra=BODY,
)
async def append(
    request: Request,
    library: InLibrary,
    principal: Writer,
    upload_id: UploadId,
    upload_offset: Offset,
    content_digest: ContentDigest = None,
) -> Response:
    """Append to an upload. Bytes received before a disconnect count; with Content-Digest only whole chunks do."""
    if request.headers.get("content-type") != PIECE:
        raise HTTPException(415, f"the content type of an upload is {PIECE}", headers=RESUMABLE)
    digest = sha256_in("content-digest", content_digest)
    upload = await library.receiver.find(upload_id, owner=principal.owner)
    upload = await _receive(library, upload, stream_body(request, principal.key_id), upload_offset, digest)
    return Response(status_code=204, headers=_headers(upload))


@router.delete("/{upload_id}", status_code=204)
async def delete(library: InLibrary, principal: Writer, upload_id: UploadId) -> Response:
    """Delete an upload. A video that was made from it stays."""
    if not await library.receiver.remove(upload_id, owner=principal.owner):
        raise NotFound("upload", upload_id)
    return Response(status_code=204, headers=RESUMABLE)


async def _receive(
    library: InLibrary, upload: Upload, pieces: AsyncIterator[bytes], offset: int, digest: str | None
) -> Upload:
    upload = await library.receiver.receive(upload, pieces, offset=offset, digest=digest)
    return await library.receiver.finish(upload) if upload.complete else upload


def _headers(upload: Upload) -> dict[str, str]:
    headers = {
        **RESUMABLE,
        "Upload-Offset": str(upload.received),
        "Upload-Expires": format_datetime(upload.expires_at, usegmt=True),
        "Cache-Control": "no-store",
    }
    if upload.length is not None:
        headers["Upload-Length"] = str(upload.length)
    if upload.sha256 is not None:
        headers["Repr-Digest"] = header_of(upload.sha256)
    return headers


def _document(upload: Upload) -> Document:
    return {
        "id": upload.id,
        "name": upload.name,
        "length": upload.length,
        "received": upload.received,
        "complete": upload.complete,
        "sha256": upload.sha256,
        "created_at": upload.created_at,
        "expires_at": upload.expires_at,
    }


def _name(metadata: str | None) -> str:
    """Return the file name from tus metadata; other metadata is ignored."""
    for pair in (metadata or "").split(","):
        name, _, value = pair.strip().partition(" ")
        if name == "filename":
            try:
                return base64.b64decode(value, validate=True).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise InvalidRequest(
                    "upload-metadata", "the filename is not base64", hint="a key, a space, and the value in base64"
                ) from None
    return ""
