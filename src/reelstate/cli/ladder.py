"""Render the qualities of a transcode as a table with bars."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from reelstate.cli.terminal import bar, cut, share, status, table
from reelstate.media.planning.quality import Quality, QualityStatus


def qualities_table(qualities: Iterable[Quality]) -> Table:
    made = table("quality", "status", "", "", "segments", "details", flexible=["details"])
    for each in qualities:
        skipped = each.status is QualityStatus.SKIPPED
        made.add_row(
            each.quality,
            status(each.status),
            "" if skipped else bar(each.progress_percent, each.status),
            "" if skipped else share(each.progress_percent),
            "" if skipped else f"{each.segments_completed}/{each.segments_total}",
            cut(each.error_message or (f"reused from version {each.reused_from}" if each.reused_from else "")),
        )
    return made
