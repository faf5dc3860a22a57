"""Reads how close a chunk is to its source from the reports of ffmpeg's filters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reelstate.core.errors import ReelstateError
from reelstate.media.ffmpeg.build import Build
from reelstate.media.ffmpeg.commands import SCORES
from reelstate.media.records import MalformedRecord, record_of

NONE: Final = "none"
_ALL: Final = re.compile(r"\bAll:(\d+(?:\.\d+)?)")


class NoScore(ReelstateError):
    """The filter wrote no readable report."""


@dataclass(frozen=True, slots=True)
class _Pooled:
    mean: float


@dataclass(frozen=True, slots=True)
class _Metrics:
    vmaf: _Pooled


@dataclass(frozen=True, slots=True)
class _VmafReport:
    """The part of the report of libvmaf that is used."""

    pooled_metrics: _Metrics


def available_measure(requested: str, build: Build) -> str:
    """Return the requested measure, or ssim if it is vmaf and this ffmpeg lacks it."""
    return "ssim" if requested == "vmaf" and "libvmaf" not in build.filters else requested


def read_score(how: str, folder: Path) -> float:
    """Return the mean over all frames: 0 to 1 for ssim, 0 to 100 for vmaf."""
    try:
        text = (folder / SCORES[how]).read_text("utf-8")
        if how == "vmaf":
            return record_of(_VmafReport, json.loads(text)).pooled_metrics.vmaf.mean
        frames = [float(found) for found in _ALL.findall(text)]
        return sum(frames) / len(frames)
    except (OSError, ValueError, MalformedRecord, ZeroDivisionError) as error:
        raise NoScore(f"{how} wrote no score: {error!r}", hint="see `reel steps` for the output of ffmpeg") from error


def mean(scores: Iterable[tuple[float, int]]) -> float:
    """Return the mean of chunk scores, weighted by frames."""
    pairs = list(scores)
    return sum(score * frames for score, frames in pairs) / sum(frames for _, frames in pairs)
