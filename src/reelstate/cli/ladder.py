"""The qualities of a transcode at the command line, shown as bars."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table

from reelstate.cli.terminal import bar, cut, share, status, table
from reelstate.media.planning.quality import Quality, QualityStatus


def qualities_table(found: Iterable[Quality]) -> Table:
    made = table("quality", "status", "", "", "segments", "why", flexible=["why"])
    for each in found:
        left_out = each.status is QualityStatus.SKIPPED
        made.add_row(
            each.quality,
            status(each.status),
            "" if left_out else bar(each.progress_percent, each.status),
            "" if left_out else share(each.progress_percent),
            "" if left_out else f"{each.segments_completed}/{each.segments_total}",
            cut(each.error_message or (f"reused from version {each.reused_from}" if each.reused_from else "")),
        )
    return made
