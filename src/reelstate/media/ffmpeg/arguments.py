"""Lists of the arguments that ffmpeg may be started with. Every command is checked against them.

An argument that is not on a list is refused before anything is started: an unknown option, a wrong value of an option,
a filter, or an option of a filter that could name a file. A graph with a quotation mark or a backslash is refused too,
because no command needs one.
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
    """A command has an argument that is not on the lists."""


def _one_of(*values: str) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, values)))


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
"""Every allowed option with the pattern of its value; None if it has no value."""
GRAPH, INPUT, NO_FILE, FILE = "-filter_complex", "-i", "-", "file:"

_LABELS: Final = r"(?:\[[a-z0-9:]{1,20}\])*"
_FILTER: Final = re.compile(rf"{_LABELS}([a-z0-9]{{1,20}})(?:=([^\[\]]*))?{_LABELS}", re.ASCII)
_VALUE: Final = re.compile(r"[A-Za-z0-9_.+*/()|-]{0,200}", re.ASCII)
_PLAIN: Final = ""
"""The name of a value without a name."""
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
"""Every allowed filter, with its options."""
FILES: Final = {"stats_file": "ssim.txt", "log_path": "vmaf.json"}
"""The only files that a filter may write, in the folder of its task."""


def require_allowed(argv: Sequence[str], folder: Path, reads: Collection[Path] = ()) -> None:
    """Raise `ArgumentRefused` if a command of ffmpeg, its program first, has an argument that is not on the lists.

    It may read the files in `reads` and in its folder, and write into its folder.
    """
    arguments = iter(argv[1:])
    for argument in arguments:
        if argument == GRAPH:
            require_graph(next(arguments, ""))
        elif argument in OPTIONS:
            value = _require_value(argument, "" if OPTIONS[argument] is None else next(arguments, ""))
            if argument == INPUT:
                _require_file(value, folder, reads)
        elif argument != NO_FILE:
            _require_file(argument, folder)


def _require_value(option: str, value: str) -> str:
    pattern = OPTIONS[option]
    if pattern is not None and pattern.fullmatch(value) is None:
        raise _refused(option, f"invalid value {value[:100]!r}")
    return value


def _require_file(argument: str, folder: Path, reads: Collection[Path] = ()) -> None:
    """Refuse what is not a file, or a file elsewhere. A percent sign is doubled in the names of numbered pictures."""
    if not argument.startswith(FILE):
        raise _refused(argument[:100], "is not an allowed argument")
    path = Path(normpath(argument.removeprefix(FILE).replace("%%", "%")))
    if path not in {Path(normpath(each)) for each in reads} and Path(normpath(folder)) not in path.parents:
        raise _refused(argument[:100], "is not a file of this task")


def require_graph(graph: str) -> None:
    """Refuse a filter graph with a filter, an option or a character that is not on the lists."""
    for each in re.split("[;,]", graph):
        found = _FILTER.fullmatch(each)
        if found is None or found[1] not in FILTERS:
            raise _refused(GRAPH, f"{each[:100]!r} is not an allowed filter")
        for option in found[2].split(":") if found[2] else ():
            _require_option(found[1], option)


def _require_option(name: str, option: str) -> None:
    key, equals, value = option.partition("=")
    key, value = (key, value) if equals else (_PLAIN, key)
    if key not in FILTERS[name]:
        raise _refused(GRAPH, f"the filter {name} may not have the option {key[:50]!r}")
    if _VALUE.fullmatch(value) is None or value != FILES.get(key, value):
        raise _refused(GRAPH, f"the filter {name} may not have {option[:100]!r}")


def _refused(argument: str, message: str) -> ArgumentRefused:
    return ArgumentRefused(argument, message, hint="add what a new command needs to media/ffmpeg/arguments.py")
