"""How the picture of a source is converted: deinterlacing, tone mapping and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from reelstate.media.records import Index, OneOf
from reelstate.media.sources.facts import HDR_TRANSFERS, VideoFacts

MATRICES: Final = ("bt709", "fcc", "bt470bg", "smpte170m", "smpte240m", "bt2020nc")
PRIMARIES: Final = ("bt709", "bt470m", "bt470bg", "smpte170m", "smpte240m", "bt2020", "smpte431", "smpte432")
TRANSFERS: Final = ("bt709", "smpte170m", "smpte240m", "iec61966-2-1", "iec61966-2-4", "bt2020-10", "bt2020-12")
SD_LINES: Final = 576
"""A picture with more lines, or wider than `SD_WIDTH`, without stated colours is taken for BT.709."""
SD_WIDTH: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Colors:
    """The colours of the encoded streams, by their names in ffmpeg, which are also their tags."""

    matrix: Annotated[str, OneOf(*MATRICES)] = "bt709"
    primaries: Annotated[str, OneOf(*PRIMARIES)] = "bt709"
    transfer: Annotated[str, OneOf(*TRANSFERS)] = "bt709"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """How the picture of the source is read. Its strings are used in filter graphs, so each is one of a list."""

    index: Index
    deinterlace: bool = False
    tonemap: Annotated[str, OneOf("", *HDR_TRANSFERS)] = ""
    """The transfer to map from, for a source with high dynamic range."""
    primaries: Annotated[str, OneOf("", "input", "2020")] = ""
    matrix: Annotated[str, OneOf("", "input", "2020_ncl")] = ""
    colors: Colors = Colors()
    rgb: bool = False
    """Whether it has to be converted to the matrix of `colors`."""


def plan_picture(video: VideoFacts) -> Picture:
    if not video.hdr:
        return Picture(index=video.index, deinterlace=video.interlaced, colors=_plan_colors(video), rgb=video.rgb)
    return Picture(
        index=video.index,
        deinterlace=video.interlaced,
        tonemap=video.transfer,
        primaries="input" if video.primaries == "bt2020" else "2020",
        matrix="input" if video.matrix in ("bt2020nc", "bt2020c") else "2020_ncl",
    )


def _plan_colors(video: VideoFacts) -> Colors:
    """Return the stated colours of the source, or those that players assume for a picture of its size."""
    large = video.rgb or min(video.width, video.height) > SD_LINES or max(video.width, video.height) > SD_WIDTH
    assumed = "bt709" if large else "smpte170m"
    return Colors(
        matrix=video.matrix if video.matrix in MATRICES else assumed,
        primaries=video.primaries if video.primaries in PRIMARIES else assumed,
        transfer=video.transfer if video.transfer in TRANSFERS else assumed,
    )
