"""How close a made chunk is to its source, from what ffmpeg's filters have written of each frame."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reelstate.core.errors import ReelstateError
from reelstate.media.ffmpeg.build import Build
from reelstate.media.ffmpeg.commands import SCORES

NONE: Final = "none"
_ALL: Final = re.compile(r"\bAll:(\d+(?:\.\d+)?)")


class NoScore(ReelstateError):
    """The filter has left nothing that can be read."""


def measure_of(wanted: str, build: Build) -> str:
    """What can be measured here: vmaf where this ffmpeg has it, else ssim, which all have."""
    return "ssim" if wanted == "vmaf" and "libvmaf" not in build.filters else wanted


def read_score(how: str, folder: Path) -> float:
    """The mean over all frames: from 0 to 1 for ssim, to 100 for vmaf."""
    try:
        text = (folder / SCORES[how]).read_text("utf-8")
        if how == "vmaf":
            return float(json.loads(text)["pooled_metrics"]["vmaf"]["mean"])
        frames = [float(found) for found in _ALL.findall(text)]
        return sum(frames) / len(frames)
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        raise NoScore(f"{how} has left no score: {error!r}", hint="see `reel steps` for what ffmpeg said") from error


def mean(scores: Iterable[tuple[float, int]]) -> float:
    """The mean of chunks, each counted by its frames."""
    pairs = list(scores)
    return sum(score * frames for score, frames in pairs) / sum(frames for _, frames in pairs)
