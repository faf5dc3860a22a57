"""`reel serve`: serve the HTTP API."""

from __future__ import annotations

import asyncio
import os
from typing import Annotated

import typer

from reelstate.cli.options import App, Database
from reelstate.cli.process import set_up_logging
from reelstate.config import from_environment

Host = Annotated[str | None, typer.Option(help="The address to serve on.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="The port to serve on; 0 for a free one.")]
Certificate = Annotated[str | None, typer.Option(metavar="FILE", help="The certificate file, for HTTPS.")]
CertificateKey = Annotated[str | None, typer.Option(metavar="FILE", help="The key file of the certificate.")]
Insecure = Annotated[bool, typer.Option("--insecure", help="Allow other machines to connect without TLS.")]


def serve(
    app: App = None,
    database: Database = None,
    host: Host = None,
    port: Port = None,
    tls_cert: Certificate = None,
    tls_key: CertificateKey = None,
    insecure: Insecure = False,
    keeper: Annotated[
        bool, typer.Option(help="Also run a keeper, which remote workers need; one of several is the leader.")
    ] = True,
) -> None:
    """Serve the HTTP API until stopped. The first start creates an admin key and prints its path.

    Example: `reel serve --port 8700`
    """
    settings = from_environment(
        os.environ,
        app=app,
        database_url=database,
        serve_host=host,
        serve_port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
    )
    set_up_logging(settings)
    from reelstate.cli.serving import serve_until_stopped  # noqa: PLC0415 - slow to load

    asyncio.run(serve_until_stopped(settings, insecure=insecure, keeper=keeper))
