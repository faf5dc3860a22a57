"""Which arguments ffmpeg may be started with. Every command is held to these lists, wherever its words come from.

An argument that is not on a list is refused before anything is started: an option that is unknown, a value that an
option can't have, a filter, or an option of a filter, that could name a file. Nothing here needs ffmpeg's quoting:
a graph that holds a quotation mark or a backslash is refused, because none of ours does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from os.path import normpath
from pathlib import Path
from typing import Final

from reelstate.core.errors import InvalidRequest
from reelstate.media.planning.profile import AV1_SPEEDS, ENCODERS, SPEEDS
from reelstate.media.sources.allowed import DECODERS, DEMUXERS, PROTOCOLS


class ArgumentRefused(InvalidRequest):
    """A command holds an argument that is not on the lists."""


def _one_of(*words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, words)))


_NUMBER: Final = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,9})?", re.ASCII)
_RATE: Final = re.compile(r"[0-9]{1,20}(?:/[0-9]{1,20})?", re.ASCII)
_FLAGS: Final = re.compile(r"(?:\+[a-z_]{1,30})+", re.ASCII)
_FILE: Final = re.compile(r"file:.+", re.DOTALL)
_X265: Final = re.compile(
    r"(?:(?:keyint|min-keyint|scenecut|open-gop|pools)=[0-9]{1,9}:?|log-level=warning:?)*", re.ASCII
)

OPTIONS: Final[Mapping[str, re.Pattern[str] | None]] = {
    **dict.fromkeys(("-nostdin", "-hide_banner", "-y", "-nostats", "-copyts", "-noaccurate_seek", "-xerror"), None),
    **dict.fromkeys(("-stats_period", "-max_pixels", "-map_metadata", "-map_chapters", "-t", "-ss"), _NUMBER),
    **dict.fromkeys(("-seek_timestamp", "-frames:v", "-q:v", "-update", "-start_number", "-threads"), _NUMBER),
    **dict.fromkeys(("-output_ts_offset", "-b:a", "-ar", "-ac", "-frag_duration", "-crf", "-maxrate"), _NUMBER),
    **dict.fromkeys(
        ("-bufsize", "-g", "-keyint_min", "-sc_threshold", "-video_track_timescale", "-use_editlist"), _NUMBER
    ),
    **dict.fromkeys(("-fflags", "-flags", "-movflags"), _FLAGS),
    "-r": _RATE,
    "-i": _FILE,
    "-progress": _one_of("pipe:1"),
    "-loglevel": _one_of("level+warning", "level+info"),
    "-protocol_whitelist": _one_of(",".join(PROTOCOLS)),
    "-format_whitelist": _one_of(",".join(DEMUXERS)),
    "-codec_whitelist": _one_of(",".join(DECODERS)),
    "-map": re.compile(r"\[[a-z][a-z0-9]{0,9}\]|[0-9]{1,5}:(?:[0-9]{1,5}|v:0)", re.ASCII),
    "-f": _one_of("mp4", "matroska", "image2", "webvtt", "null"),
    "-c": _one_of("copy"),
    "-c:v": _one_of(*ENCODERS.values()),
    "-c:a": _one_of("aac"),
    "-c:s": _one_of("webvtt"),
    "-preset": _one_of(*SPEEDS, *AV1_SPEEDS),
    "-pix_fmt": _one_of("yuv420p"),
    "-fps_mode": _one_of("cfr", "passthrough"),
    "-skip_frame": _one_of("nokey"),
    "-err_detect": _one_of("explode"),
    "-tag:v": _one_of("hvc1"),
    "-avoid_negative_ts": _one_of("disabled"),
    "-x265-params": _X265,
    "-svtav1-params": re.compile(r"lp=[0-9]{1,5}", re.ASCII),
}
"""Every option that a command may have, with what its value looks like; None for one that has no value."""
GRAPH, INPUT, NOWHERE, FILE = "-filter_complex", "-i", "-", "file:"

_LABELS: Final = r"(?:\[[a-z0-9:]{1,20}\])*"
_FILTER: Final = re.compile(rf"{_LABELS}([a-z0-9]{{1,20}})(?:=([^\[\]]*))?{_LABELS}", re.ASCII)
_VALUE: Final = re.compile(r"[A-Za-z0-9_.+*/()|-]{0,200}", re.ASCII)
_PLAIN: Final = ""
"""Stands for a value without a name."""
FILTERS: Final[Mapping[str, frozenset[str]]] = {
    "aformat": frozenset({"sample_fmts", "channel_layouts"}),
    "alimiter": frozenset({"limit", "level", "latency"}),
    "apad": frozenset({"whole_len"}),
    "aresample": frozenset({_PLAIN, "async", "first_pts"}),
    "asetpts": frozenset({_PLAIN}),
    "atrim": frozenset({"end_sample"}),
    "bwdif": frozenset({"mode", "parity", "deint"}),
    "format": frozenset({_PLAIN}),
    "fps": frozenset({_PLAIN, "start_time"}),
    "libvmaf": frozenset({"log_fmt", "log_path"}),
    "scale": frozenset({_PLAIN, "flags", "out_color_matrix", "out_range"}),
    "setparams": frozenset({"range", "colorspace", "color_primaries", "color_trc"}),
    "setpts": frozenset({_PLAIN}),
    "setsar": frozenset({_PLAIN}),
    "settb": frozenset({_PLAIN}),
    "split": frozenset({_PLAIN}),
    "ssim": frozenset({"stats_file"}),
    "thumbnail": frozenset({"n"}),
    "tile": frozenset({_PLAIN}),
    "tonemap": frozenset({_PLAIN, "desat"}),
    "tpad": frozenset({"stop_mode", "stop", "stop_duration"}),
    "trim": frozenset({"start_frame", "end_frame"}),
    "zscale": frozenset({"tin", "pin", "min", "t", "npl", "p", "m", "r"}),
}
"""Every filter that a graph may have, with its options."""
FILES: Final = {"stats_file": "ssim.txt", "log_path": "vmaf.json"}
"""The only files that a filter may write, in the folder of its task."""


def require_allowed(argv: Sequence[str], folder: Path, reads: Collection[Path] = ()) -> None:
    """Refuse a command of ffmpeg, its program first, that holds anything which is not on the lists.

    It may read these files and what is in its folder, and write into its folder.
    """
    words = iter(argv[1:])
    for word in words:
        if word == GRAPH:
            require_graph(next(words, ""))
        elif word in OPTIONS:
            value = _require_value(word, "" if OPTIONS[word] is None else next(words, ""))
            if word == INPUT:
                _require_place(value, folder, reads)
        elif word != NOWHERE:
            _require_place(word, folder)


def _require_value(option: str, value: str) -> str:
    pattern = OPTIONS[option]
    if pattern is not None and pattern.fullmatch(value) is None:
        raise _refused(option, f"can't be {value[:100]!r}")
    return value


def _require_place(word: str, folder: Path, reads: Collection[Path] = ()) -> None:
    """Refuse what is no file, or a file that is elsewhere. A percent sign is doubled where pictures are numbered."""
    if not word.startswith(FILE):
        raise _refused(word[:100], "is not an argument that a command of ours has")
    path = Path(normpath(word.removeprefix(FILE).replace("%%", "%")))
    if path not in {Path(normpath(each)) for each in reads} and Path(normpath(folder)) not in path.parents:
        raise _refused(word[:100], "is not a file of this task")


def require_graph(graph: str) -> None:
    """Refuse a filter graph with a filter, an option or a character that is not on the lists."""
    for each in re.split("[;,]", graph):
        found = _FILTER.fullmatch(each)
        if found is None or found[1] not in FILTERS:
            raise _refused(GRAPH, f"{each[:100]!r} is not a filter that a graph of ours has")
        for option in found[2].split(":") if found[2] else ():
            _require_option(found[1], option)


def _require_option(name: str, option: str) -> None:
    key, equals, value = option.partition("=")
    key, value = (key, value) if equals else (_PLAIN, key)
    if key not in FILTERS[name]:
        raise _refused(GRAPH, f"the filter {name} has no option {key[:50]!r} here")
    if _VALUE.fullmatch(value) is None or value != FILES.get(key, value):
        raise _refused(GRAPH, f"the filter {name} can't have {option[:100]!r}")


def _refused(place: str, message: str) -> ArgumentRefused:
    return ArgumentRefused(place, message, hint="what a new command needs is added to the lists in media/arguments.py")
