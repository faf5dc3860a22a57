"""`reel webhooks`: manage webhooks and inspect their deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from reelstate.cli.documents import print_json
from reelstate.cli.keys import new_key_file
from reelstate.cli.options import AsJson, Database
from reelstate.cli.plain import echo
from reelstate.cli.session import connect, operator, run
from reelstate.cli.terminal import age, console, moment, table
from reelstate.core.webhook import Delivery, DeliveryStatus, Webhook, WebhookSecret
from reelstate.documents import delivery_document, webhook_document

webhooks = typer.Typer(no_args_is_help=False, rich_markup_mode="markdown")
WebhookId = Annotated[str, typer.Argument(metavar="WEBHOOK", help="The id of the webhook, see `reel webhooks`.")]
Url = Annotated[str, typer.Argument(metavar="URL", help="Where events are sent, https://…")]
Event = Annotated[
    list[str] | None, typer.Option(help="A type of event, such as video.ready; can be repeated. All by default.")
]
SecretFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write the secret to this new file, readable by you only; do not print it."),
]


@webhooks.callback(invoke_without_command=True)
def show(context: typer.Context, database: Database = None, as_json: AsJson = False) -> None:
    """List webhooks; or add, change or remove them, rotate secrets, list deliveries or repeat one.

    Example: `reel webhooks --json`
    """
    if context.invoked_subcommand is None:
        listing(database=database, as_json=as_json)


@webhooks.command("list")
def listing(database: Database = None, as_json: AsJson = False) -> None:
    """List webhooks with their events. The callbacks of a user's jobs are one of them. Secrets are not shown.

    Example: `reel webhooks list`
    """
    found = run(_list(database))
    if as_json:
        print_json([webhook_document(webhook) for webhook in found])
        return
    made = table("id", "url", "user", "events", "status", flexible=["url", "events"])
    for webhook in found:
        made.add_row(webhook.id, _target(webhook), webhook.user_id, " ".join(webhook.events) or "all", _status(webhook))
    console().print(made if found else "no webhooks; `reel webhooks add` adds one")


@webhooks.command()
def add(
    url: Url,
    event: Event = None,
    user: Annotated[str, typer.Option(help="Only events of this user's jobs; by default of all.")] = "",
    description: Annotated[str, typer.Option(help="A note for people.")] = "",
    secret_file: SecretFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Add a webhook, and print its secret once or write it to a file.

    Example: `reel webhooks add https://example.com/hook --event video.ready --event video.failed`
    """
    _print_secret(secret_file, lambda: run(_add(database, url, event or (), user, description)), as_json=as_json)


@webhooks.command()
def update(
    webhook: WebhookId,
    url: Annotated[str | None, typer.Option(help="Another URL.")] = None,
    event: Event = None,
    description: Annotated[str | None, typer.Option(help="A note for people.")] = None,
    enable: Annotated[bool, typer.Option("--enable", help="Send events again, and what is pending.")] = False,
    disable: Annotated[bool, typer.Option("--disable", help="Send no more events.")] = False,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Change a webhook; what is not named stays. One that is enabled again gets what is pending.

    Example: `reel webhooks update wh_4f1e0c9a77b25d31 --enable`
    """
    if enable and disable:
        raise typer.BadParameter("can't be used with --enable", param_hint="--disable")
    enabled = True if enable else False if disable else None
    changed = run(_update(database, webhook, url, event, description, enabled))
    print_json(webhook_document(changed)) if as_json else console().print(f"webhook {webhook}: {_status(changed)}")


@webhooks.command()
def remove(webhook: WebhookId, database: Database = None, as_json: AsJson = False) -> None:
    """Remove a webhook and its deliveries.

    Example: `reel webhooks remove wh_4f1e0c9a77b25d31`
    """
    run(_remove(database, webhook))
    print_json({"id": webhook, "removed": True}) if as_json else console().print(f"webhook {webhook}: removed")


@webhooks.command()
def rotate(
    webhook: WebhookId,
    overlap: Annotated[
        float, typer.Option(min=0, metavar="HOURS", help="Hours for which the old secret signs too.")
    ] = 24.0,
    secret_file: SecretFile = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Create another secret for a webhook, or for the callbacks of a user; both sign until the overlap is over.

    Example: `reel webhooks rotate wh_4f1e0c9a77b25d31 --secret-file hook.secret`
    """
    _print_secret(secret_file, lambda: run(_rotate(database, webhook, overlap * 3600)), as_json=as_json)


@webhooks.command()
def deliveries(
    webhook: WebhookId,
    status: Annotated[DeliveryStatus | None, typer.Option(help="Only deliveries of this status.")] = None,
    job: Annotated[int | None, typer.Option(min=0, help="Only events of this job.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, help="The maximum number of deliveries.")] = 20,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List deliveries, newest first, with the outcome of the last attempt; `--json` shows all attempts.

    Example: `reel webhooks deliveries wh_4f1e0c9a77b25d31 --status failed`
    """
    found = run(_deliveries(database, webhook, status, job, limit))
    if as_json:
        print_json([delivery_document(delivery) for delivery in found])
        return
    made = table("id", "event", "job", "status", "attempts", "age", "last attempt", flexible=["last attempt"])
    for each in found:
        job_text = "" if each.job_id is None else str(each.job_id)
        made.add_row(
            str(each.id), each.type, job_text, each.status, str(each.attempt), age(each.created_at), _last(each)
        )
    console().print(made if found else "no deliveries")


@webhooks.command()
def redeliver(
    webhook: WebhookId,
    delivery: Annotated[int, typer.Argument(min=0, metavar="DELIVERY", help="The id of the delivery.")],
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Deliver an event again, under the same `webhook-id`.

    Example: `reel webhooks redeliver wh_4f1e0c9a77b25d31 17`
    """
    again = run(_redeliver(database, webhook, delivery))
    print_json(delivery_document(again)) if as_json else console().print(f"delivery {delivery}: {again.status}")


async def _list(database: str | None) -> list[Webhook]:
    async with connect(database) as engine:
        return await engine.webhooks.all()


async def _add(database: str | None, url: str, events: Sequence[str], user: str, description: str) -> WebhookSecret:
    async with connect(database, wait=True) as engine:
        return await engine.webhooks.add(url, events=events, user_id=user, description=description, actor=operator())


async def _update(
    database: str | None,
    webhook: str,
    url: str | None,
    events: Sequence[str] | None,
    description: str | None,
    enabled: bool | None,
) -> Webhook:
    async with connect(database, wait=True) as engine:
        return await engine.webhooks.update(
            webhook, url=url, events=events, description=description, enabled=enabled, actor=operator()
        )


async def _remove(database: str | None, webhook: str) -> None:
    async with connect(database, wait=True) as engine:
        await engine.webhooks.remove(webhook)


async def _rotate(database: str | None, webhook: str, overlap: float) -> WebhookSecret:
    async with connect(database, wait=True) as engine:
        return await engine.webhooks.rotate(webhook, overlap=overlap, actor=operator())


async def _deliveries(
    database: str | None, webhook: str, status: DeliveryStatus | None, job: int | None, limit: int
) -> list[Delivery]:
    async with connect(database) as engine:
        return (await engine.webhooks.deliveries(webhook, status=status, job_id=job, limit=limit)).items


async def _redeliver(database: str | None, webhook: str, delivery: int) -> Delivery:
    async with connect(database, wait=True) as engine:
        return await engine.webhooks.redeliver(webhook, delivery)


def _print_secret(path: Path | None, make: Callable[[], WebhookSecret], *, as_json: bool) -> None:
    """Create a secret, and print it or write it to a new file, which is opened first."""
    if path is None:
        made = make()
        if as_json:
            print_json({**webhook_document(made.webhook), "secret": made.secret})
            return
        echo(made.secret)
        echo(f"webhook {made.webhook.id}; keep its secret: it can't be printed again", err=True)
        return
    with new_key_file(path) as file:
        made = make()
        file.write(made.secret + "\n")
    print_json(webhook_document(made.webhook)) if as_json else echo(f"webhook {made.webhook.id}, secret in {path}")


def _target(webhook: Webhook) -> str:
    return webhook.url or "callbacks of jobs"


def _status(webhook: Webhook) -> str:
    if not webhook.enabled:
        return f"disabled: {webhook.disabled}" if webhook.disabled else "disabled"
    return f"failing since {moment(webhook.failing_since)}" if webhook.failing_since else "enabled"


def _last(delivery: Delivery) -> str:
    if not delivery.attempts:
        return ""
    last = delivery.attempts[-1]
    return last.failure or f"{last.status} in {last.seconds:.2f} s"
