"""The dashboard: the built browser application under `/ui/`, and the path under which a proxy serves it.

The files are made by the build, and read once. Names of files in `assets/` contain a digest of the content, so browsers
keep them for ever; every other file is asked for again each time. A path that is no file is a page of the application.
"""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from reelstate.api.connections import Admission
from reelstate.api.context import context_of
from reelstate.api.server import PEER
from reelstate.config import checked_prefix

router = APIRouter(tags=["home"])
STATIC: Final = Path(__file__).with_name("static")
INDEX: Final = "index.html"
BASE: Final = "/ui/"
BUILD: Final = "npm --prefix web ci && npm --prefix web run build"
"""The command that builds the dashboard in a checkout."""
IMMUTABLE: Final = "public, max-age=31536000, immutable"
REVALIDATE: Final = "no-cache"
POLICY: Final = (
    "default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob: data:; worker-src 'self' blob:; "
    "object-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
)
"""No inline script or style; the player makes its worker and stream of blobs, and empty captions of data."""
COMPRESSIBLE: Final = frozenset({".js", ".css", ".html", ".svg", ".json", ".txt", ".map"})
ASSET_SUFFIXES: Final = COMPRESSIBLE | {".ico", ".png", ".webp", ".woff2", ".wasm", ".webmanifest"}
"""Suffixes of names at the top level that are files and never pages."""
_BASE_TAG: Final = re.compile(r'<base href="[^"]*"\s*/?>')


@dataclass(frozen=True)
class File:
    """A file of the bundle, with what its responses need."""

    name: str
    content: bytes

    @cached_property
    def compressed(self) -> bytes | None:
        """The content in gzip; None where that is no smaller."""
        if Path(self.name).suffix not in COMPRESSIBLE:
            return None
        made = gzip.compress(self.content, 9, mtime=0)
        return made if len(made) < len(self.content) else None

    @cached_property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:24]}"'

    @property
    def media_type(self) -> str:
        if self.name.endswith(".js"):
            return "text/javascript; charset=utf-8"
        kind = mimetypes.guess_type(self.name)[0] or "application/octet-stream"
        return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


class Bundle:
    """The built files, read when the first page is asked for, and again when they were built anew."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._folder = folder
        self._built_at: int | None = None
        self._files: dict[str, File] = {}

    def file(self, name: str) -> File | None:
        """Return a file by its path below the folder; None where there is none."""
        try:
            built_at = (self._folder / INDEX).stat().st_mtime_ns
        except OSError:
            return None
        if built_at != self._built_at:
            self._files = {
                path.relative_to(self._folder).as_posix(): File(path.name, path.read_bytes())
                for path in self._folder.rglob("*")
                if path.is_file() and not path.name.startswith(".")
            }
            self._built_at = built_at
        return self._files.get(name)

    def page(self, prefix: str) -> str | None:
        """Return the page of the application for a path prefix; None where nothing is built."""
        index = self.file(INDEX)
        if index is None:
            return None
        base = f'<base href="{escape(prefix)}{BASE}">'
        return _BASE_TAG.sub(lambda _: base, index.content.decode(), count=1)


def prefix_of(request: Request) -> str:
    """Return the path under which the browser sees this server: from the settings, or from a trusted proxy."""
    settings = context_of(request).settings
    if settings.path_prefix:
        return checked_prefix(settings.path_prefix) or ""
    sent = request.headers.get("x-forwarded-prefix")
    if sent is not None and settings.trusted_proxies:
        peer = request.scope.get("state", {}).get(PEER, "")
        if Admission.within(1, total=1, per_address=1, proxies=settings.trusted_proxies).is_proxy(peer):
            return checked_prefix(sent) or ""
    return checked_prefix(request.scope.get("root_path", "")) or ""


@router.get("/ui", include_in_schema=False)
async def dashboard(request: Request) -> Response:
    """Send the browser to the dashboard."""
    return RedirectResponse(f"{prefix_of(request)}{BASE}", 307)


@router.get("/ui/{path:path}", include_in_schema=False, response_model=None)
async def dashboard_file(request: Request, path: Annotated[str, PathParameter(max_length=4096)]) -> Response:
    """Return a file of the dashboard, or for the path of a page the application."""
    bundle: Bundle = request.app.state.bundle
    if path and path != INDEX and (file := bundle.file(path)) is not None:
        return _file_response(request, file, IMMUTABLE if path.startswith("assets/") else REVALIDATE)
    if path.startswith("assets/") or ("/" not in path and Path(path).suffix in ASSET_SUFFIXES and path != INDEX):
        raise HTTPException(404)
    page = bundle.page(prefix_of(request))
    if page is None:
        return HTMLResponse(_NOT_BUILT, 503, headers=_headers(REVALIDATE))
    return _file_response(request, File(INDEX, page.encode()), REVALIDATE)


def _file_response(request: Request, file: File, cache: str) -> Response:
    headers = {**_headers(cache), "etag": file.etag, "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    content = file.content
    if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        content = file.compressed
        headers["content-encoding"] = "gzip"
    return Response(content, media_type=file.media_type, headers=headers)


def _headers(cache: str) -> dict[str, str]:
    return {"content-security-policy": POLICY, "cache-control": cache}


_NOT_BUILT: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Reelstate</title>"
    "<h1>The dashboard is not built</h1><p>This server runs from a checkout without it. Build it with</p>"
    f"<pre>{escape(BUILD)}</pre><p>and load this page again. <a href=../docs>The API</a> is served.</p></html>"
)
