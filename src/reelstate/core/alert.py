"""Alerts for operators: their types, and their messages for Slack, Discord and other receivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from reelstate.core.errors import InvalidRequest

Json = Any
SLACK_LIMIT: Final = 3000
"""Characters of a section."""
DISCORD_LIMIT: Final = 2000
MAX_LISTED: Final = 5
MAX_LINE: Final = 300
EVENT_PREFIX: Final = "alert."


class AlertType(StrEnum):
    """What operators are alerted about."""

    STALE_JOB_RECOVERED = "stale_job_recovered"
    JOB_MAX_RETRIES_EXCEEDED = "job_max_retries_exceeded"
    JOB_FAILED_PATTERN = "job_failed_pattern"
    QUARANTINED = "quarantined"
    KEEPER_STALLED = "keeper_stalled"
    QUEUE_STUCK = "queue_stuck"
    DISK_LOW = "disk_low"
    ENDPOINT_DISABLED = "endpoint_disabled"
    WORKER_STARTUP = "worker_startup"
    WORKER_SHUTDOWN = "worker_shutdown"


OPTIONAL: Final = frozenset({AlertType.WORKER_STARTUP, AlertType.WORKER_SHUTDOWN})
"""Types that are sent only where the settings name them."""
TITLES: Final[Mapping[str, str]] = {
    AlertType.STALE_JOB_RECOVERED: "Jobs recovered from lost workers",
    AlertType.JOB_MAX_RETRIES_EXCEEDED: "Jobs failed",
    AlertType.JOB_FAILED_PATTERN: "Repeated failures",
    AlertType.QUARANTINED: "Jobs quarantined",
    AlertType.KEEPER_STALLED: "No keeper ran for a while",
    AlertType.QUEUE_STUCK: "Tasks wait too long",
    AlertType.DISK_LOW: "Disk space is low",
    AlertType.ENDPOINT_DISABLED: "Webhooks disabled",
    AlertType.WORKER_STARTUP: "Workers started",
    AlertType.WORKER_SHUTDOWN: "Workers stopped",
}


@dataclass(frozen=True, slots=True)
class AlertLine:
    """One subject of an alert, such as a pipeline or a worker, and what happened to it."""

    subject: str
    message: str
    job_id: int | None = None


def alert_data(kind: str, lines: Sequence[AlertLine], total: int) -> dict[str, Json]:
    """Return what is stored of an alert: its first lines, and how many there were in all."""
    return {
        "type": kind,
        "count": total,
        "alerts": [
            {"subject": line.subject, "message": line.message[:MAX_LINE], "job_id": line.job_id}
            for line in lines[:MAX_LISTED]
        ],
    }


def alert_types(text: str) -> frozenset[str]:
    """Return the types that a setting names, separated by commas; when empty, all that are not optional."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    known = [str(kind) for kind in AlertType]
    for name in names:
        if name not in known:
            raise InvalidRequest("alert_events", f"unknown alert {name!r}", hint=f"one or more of {', '.join(known)}")
    return frozenset(names) or frozenset(map(str, set(AlertType) - OPTIONAL))


def alert_format(url: str, chosen: str = "auto") -> str:
    """Return the format of the messages to a URL: slack, discord or webhook."""
    if chosen != "auto":
        return chosen
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "hooks.slack.com":
        return "slack"
    if host in ("discord.com", "discordapp.com") and parts.path.startswith("/api/webhooks/"):
        return "discord"
    return "webhook"


def slack_message(data: Mapping[str, Json]) -> dict[str, Json]:
    """Return an alert as a message for Slack."""
    text = _cut(_escape(_text(data, "*{}*")), SLACK_LIMIT)
    return {"text": text, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]}


def discord_message(data: Mapping[str, Json]) -> dict[str, Json]:
    """Return an alert as a message for Discord, in which nobody is mentioned."""
    return {"content": _cut(_text(data, "**{}**"), DISCORD_LIMIT), "allowed_mentions": {"parse": []}}


def _text(data: Mapping[str, Json], title: str) -> str:
    lines = [title.format(TITLES.get(data["type"], data["type"]))]
    for alert in data["alerts"]:
        job = "" if alert["job_id"] is None else f" (job {alert['job_id']})"
        lines.append(f"• {alert['subject']}: {alert['message']}{job}")
    more = data["count"] - len(data["alerts"])
    return "\n".join([*lines, f"and {more} more"] if more > 0 else lines)


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
