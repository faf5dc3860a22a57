"""Renders the OpenAPI description as one static page, without scripts or external files."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

router = APIRouter()
STYLE: Final = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "h2{margin-top:2.5rem;border-bottom:1px solid #ddd;text-transform:capitalize}details{margin:.4rem 0}"
    "summary{cursor:pointer;font-family:ui-monospace,monospace;padding-left:5.8rem;text-indent:-5.8rem}"
    "summary b{display:inline-block;width:4.25rem;text-indent:0;color:#06c}nav a{text-transform:capitalize}"
    "summary i{color:#666;font-family:system-ui,sans-serif}details>div{margin:.5rem 0 1.2rem 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #ddd;padding:.2rem .6rem;text-align:left;vertical-align:top}"
    "pre{background:#f6f6f6;padding:.6rem;overflow:auto}code{font-family:ui-monospace,monospace}"
    "@media(prefers-color-scheme:dark){body{background:#16181c;color:#ddd}pre{background:#222}"
    "td,th,h2{border-color:#444}summary b{color:#6af}summary i{color:#999}}"
)
_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY: Final = f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'; base-uri 'none'"
Described = dict[str, Any]


@router.get("/docs", include_in_schema=False)
async def page(request: Request) -> HTMLResponse:
    """Show the description of the API as a page."""
    return HTMLResponse(_rendered(request.app).page, headers={"content-security-policy": POLICY})


@router.get("/openapi.json", include_in_schema=False)
async def description(request: Request) -> Response:
    """Return the description of the API as OpenAPI 3.1."""
    return Response(_rendered(request.app).document, media_type="application/json")


@dataclass(frozen=True, slots=True)
class RenderedDescription:
    """The description as it is sent. It is public, so it is rendered once."""

    page: bytes
    document: bytes


def _rendered(app: FastAPI) -> RenderedDescription:
    found: RenderedDescription | None = getattr(app.state, "description", None)
    if found is None:
        document = app.openapi()
        found = RenderedDescription(render(document).encode(), json.dumps(document, ensure_ascii=False).encode())
        app.state.description = found
    return found


def render(document: Described) -> str:
    info = document["info"]
    body = "\n".join(_sections(document))
    tags = dict.fromkeys(operation["tags"][0] for path in document["paths"].values() for operation in path.values())
    links = " · ".join(f'<a href="#{_anchor(tag)}">{escape(tag)}</a>' for tag in tags)
    intro = "".join(f"<p>{_text(line)}</p>" for line in info["description"].split("\n\n"))
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(info['title'])}</title><style>{STYLE}</style>"
        f"<h1>{escape(info['title'])}</h1>{intro}"
        f'<p>For programs: <a href="/openapi.json">openapi.json</a></p><nav>{links}</nav>{body}</html>'
    )


def _sections(document: Described) -> Iterator[str]:
    tag = None
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            (found,) = operation["tags"]
            if found != tag:
                tag = found
                yield f'<h2 id="{_anchor(tag)}">{escape(tag)}</h2>'
            yield _operation(document, method, path, operation)


def _anchor(tag: str) -> str:
    return tag.replace(" ", "-")


def _operation(document: Described, method: str, path: str, operation: Described) -> str:
    summary = f"<b>{method.upper()}</b> {escape(path)} <i>{_text(operation['summary'])}</i>"
    parts = [
        f"<p>{_text(operation['description'])}</p>",
        _scope(operation),
        _parameters(operation),
        _body(document, operation),
        _responses(operation),
    ]
    return f"<details><summary>{summary}</summary><div>{''.join(parts)}</div></details>"


def _scope(operation: Described) -> str:
    scopes = sorted(
        {scope for required in operation.get("security", []) for names in required.values() for scope in names}
    )
    return f"<p>Scope: <code>{escape(', '.join(scopes))}</code></p>" if scopes else ""


def _parameters(operation: Described) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{each['in']}<td>{_text(each.get('description', ''))}"
        for each in operation.get("parameters", [])
    ]
    return f"<table><tr><th>parameter<th>in<th>{''.join(rows)}</table>" if rows else ""


def _body(document: Described, operation: Described) -> str:
    if "requestBody" not in operation:
        return ""
    return "".join(
        f"<p>Body, {escape(kind)}:</p><pre>{escape(_schema_text(document, content.get('schema', {})))}</pre>"
        for kind, content in operation["requestBody"]["content"].items()
    )


def _schema_text(document: Described, schema: Described) -> str:
    """Return the fields of a schema with their meaning; references are resolved one level deep."""
    if "anyOf" in schema:
        schema = schema["anyOf"][0]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    required = schema.get("required", [])
    lines = [
        f"{name}{'' if name in required else '?'}: {each.get('description', each.get('title', ''))}"
        for name, each in schema.get("properties", {}).items()
    ]
    example = schema.get("example")
    return "\n".join([*lines, *([f"\n{json.dumps(example, indent=2)}"] if example else [])])


def _responses(operation: Described) -> str:
    responses = ", ".join(
        f"{status} {escape(response['description'])}" for status, response in sorted(operation["responses"].items())
    )
    return f"<p>Responses: {responses}</p>"


def _text(text: str) -> str:
    """Return escaped HTML in which text between backquotes is code."""
    parts = escape(text, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts))
