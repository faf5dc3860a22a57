"""Builds every ffmpeg command of the pipeline as a list of arguments, the program first. Pure: runs nothing.

A chunk is cut on the plan's grid, not by seeking: the seek only has to land before it. Timestamps stay those of the
source (`-copyts`), `fps` puts frames on the grid, and they are counted. So a chunk has exactly the frames that an
encode of the whole would have there, for constant and variable rates and for containers that round timestamps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Final

from reelstate.media.planning.acceptance import MAX_DURATION
from reelstate.media.planning.grid import Chunk, Grid
from reelstate.media.planning.ladder import PlannedRung
from reelstate.media.planning.picture import Picture
from reelstate.media.planning.plan import Plan
from reelstate.media.planning.tracks import PlannedAudio, PlannedCaptions, Poster, Sprites, is_decodable, is_text
from reelstate.media.sources.allowed import DECODERS, DEMUXERS, MAX_PIXELS, PROTOCOLS
from reelstate.media.sources.facts import SourceFacts

ENVIRONMENT: Final = {"GCONV_PATH": "/nonexistent"}
"""A statically linked ffmpeg crashes on MPEG-TS when it loads the character sets of the machine's C library."""

START: Final = ("-nostdin", "-hide_banner", "-y", "-nostats", "-stats_period", "0.5", "-progress", "pipe:1")
QUIET: Final = ("-loglevel", "level+warning")
VERBOSE: Final = ("-loglevel", "level+info")
SAFE_INPUT: Final = (
    *("-protocol_whitelist", ",".join(PROTOCOLS)),
    *("-format_whitelist", ",".join(DEMUXERS)),
    *("-codec_whitelist", ",".join(DECODERS)),
    *("-max_pixels", str(MAX_PIXELS)),
)
"""Options before every input: no other file, no network, only listed decoders, no giant picture."""
NO_METADATA: Final = ("-map_metadata", "-1", "-map_chapters", "-1")
BITEXACT: Final = ("-fflags", "+bitexact", "-flags", "+bitexact")
MP4_VIDEO: Final = frozenset({"h264", "hevc", "av1", "libdav1d", "mpeg4", "mpeg2video"})
MP4_AUDIO: Final = frozenset({"aac", "mp3", "mp3float", "ac3", "eac3", "opus", "flac", "alac"})
CMAF_VERSION: Final = 3
"""The first version of plans whose chunks are CMAF."""
LAST_CLONES: Final = Fraction(1)
"""Seconds for which the last frame is repeated if a container overstates its length."""
SCORES: Final = {"ssim": "ssim.txt", "vmaf": "vmaf.json"}
"""The file in the working folder to which a comparison writes its scores."""


def remux_format(facts: SourceFacts) -> str:
    """Return the container that the source's streams can be copied to: mp4 for its exact times, else matroska."""
    fits = facts.video is not None and facts.video.codec in MP4_VIDEO
    fits = fits and all(track.codec in MP4_AUDIO for track in facts.audio if is_decodable(track))
    return "mp4" if fits and not any(is_text(track) for track in facts.subtitles) else "matroska"


def remux(program: str, facts: SourceFacts, source: str, target: str) -> list[str]:
    """Copy the streams of a source without an index, those that are used, into a file with an index."""
    texts = [track.index for track in facts.subtitles if is_text(track)]
    sounds = [track.index for track in facts.audio if is_decodable(track)]
    pictures = [facts.video.index] if facts.video else []
    return [
        *(program, *START, *QUIET),
        *("-fflags", "+genpts", *_input(source)),
        *_maps(f"0:{index}" for index in (*pictures, *sounds, *texts)),
        *("-c", "copy", "-t", _seconds(MAX_DURATION), "-f", remux_format(facts), _file(target)),
    ]


def encode_chunk(
    program: str,
    plan: Plan,
    chunk: Chunk,
    source: str,
    outputs: Mapping[str, str],
    *,
    threads: int | None = None,
    seek: bool = True,
) -> list[str]:
    """Encode a chunk to a file per rung, with one decode for all. `outputs` maps names of rungs to paths.

    Without `seek` the source is decoded from its start, so that a chunk in which nothing can be decoded repeats the
    last picture before it.
    """
    rungs = [rung for rung in plan.rungs if rung.name in outputs]
    return [
        *(program, *START, *QUIET),
        *(_seek(plan.grid, chunk) if seek else ("-copyts",)),
        *_input(source),
        *("-filter_complex", _split(plan, chunk, rungs)),
        *(
            word
            for number, rung in enumerate(rungs)
            for word in ("-map", f"[v{number}]", *_output(plan, chunk, rung, outputs[rung.name], threads))
        ),
    ]


def encode_audio(program: str, plan: Plan, track: PlannedAudio, source: str, output: str) -> list[str]:
    """Encode an audio track to fragments of about a segment, exactly as long as the picture."""
    layout = "mono" if track.channels == 1 else "stereo"
    seconds = Fraction(track.samples, track.sample_rate)
    return [
        *(program, *START, *QUIET),
        *("-copyts", *_input(source)),
        *("-filter_complex", f"[0:{track.index}]{_audio_filters(plan.grid, track, layout)}[a]", "-map", "[a]"),
        *("-c:a", "aac", "-b:a", str(track.bitrate), "-ar", str(track.sample_rate), "-ac", str(track.channels)),
        *("-t", _seconds(seconds + 1), *NO_METADATA, *BITEXACT),
        # An edit list removes the priming of the audio; CMAF allows it, and ffmpeg writes none by default.
        *("-use_editlist", "1", "-movflags", "+delay_moov+default_base_moof+cmaf"),
        *("-frag_duration", str(_fragment(plan.grid))),
        *("-f", "mp4", _file(output)),
    ]


def poster(program: str, plan: Plan, picture: Poster, source: str, output: str, *, seek: bool = True) -> list[str]:
    """Make a JPEG of the most representative frame near the start, or without `seek` of the first frames."""
    filters = (*_upright(plan.picture), *_still(plan.picture, picture.width, picture.height), "thumbnail=n=24")
    at = plan.grid.origin + picture.at
    return [
        *(program, *START, *QUIET),
        *("-copyts", *(("-seek_timestamp", "1", "-noaccurate_seek", "-ss", _seconds(at)) if seek else ())),
        *_input(source),
        *("-filter_complex", _chain(f"0:{plan.picture.index}", filters, "v"), "-map", "[v]"),
        *("-frames:v", "1", "-fps_mode", "passthrough", "-q:v", "3", *NO_METADATA, *BITEXACT),
        *("-f", "image2", "-update", "1", _file(output)),
    ]


def sprite_sheets(
    program: str, plan: Plan, sprites: Sprites, source: str, folder: str, *, key_frames_only: bool = True
) -> list[str]:
    """Make sheets `sprites-1.jpg`, … in a folder; of key frames alone they cost a fraction of a full decode."""
    grid = plan.grid
    # fps drops a frame that nothing follows, and a short video may have only one key frame.
    filters = (
        *_upright(plan.picture),
        f"settb=AVTB,tpad=stop_mode=clone:stop_duration={sprites.every},setpts=PTS-({_seconds(grid.origin)})/TB",
        f"fps=1/{sprites.every}:start_time=0",
        f"tpad=stop_mode=clone:stop={sprites.count},trim=end_frame={sprites.count}",
        *_still(plan.picture, sprites.width, sprites.height),
        f"tile={sprites.columns}x{sprites.rows}",
    )
    return [
        *(program, *START, *QUIET),
        *("-copyts", *(("-skip_frame", "nokey") if key_frames_only else ()), *_input(source)),
        *("-filter_complex", _chain(f"0:{plan.picture.index}", filters, "v"), "-map", "[v]"),
        *("-frames:v", str(sprites.sheets), "-fps_mode", "passthrough", "-q:v", "4", *NO_METADATA, *BITEXACT),
        *("-f", "image2", "-start_number", "1", _file(f"{folder.replace('%', '%%')}/sprites-%d.jpg")),
    ]


def captions(program: str, plan: Plan, track: PlannedCaptions, source: str, output: str) -> list[str]:
    """Convert a text track to one WebVTT file whose times count from the first frame."""
    return [
        *(program, *START, *QUIET),
        *("-copyts", *_input(source), "-map", f"0:{track.index}", "-c:s", "webvtt"),
        *("-t", _seconds(plan.grid.origin + plan.grid.duration), "-output_ts_offset", _seconds(-plan.grid.origin)),
        *(*NO_METADATA, *BITEXACT, "-f", "webvtt", _file(output)),
    ]


def decode_check(program: str, files: Mapping[str, int], *, key_frames_only: bool = False) -> list[str]:
    """Decode files and fail at the first error; decoding key frames alone costs a hundredth.

    `files` maps each path to its maximum of frames. One thread decodes a file, because many are read at once.
    """
    skip = ("-skip_frame", "nokey", "-threads", "1") if key_frames_only else ()
    return [
        *(program, *START, *QUIET, "-xerror"),
        *(word for path in files for word in ("-err_detect", "explode", *skip, *_input(path))),
        *(word for number, frames in enumerate(files.values()) for word in _null_output(number, frames)),
    ]


def _null_output(number: int, frames: int) -> tuple[str, ...]:
    return ("-map", f"{number}:v:0", "-fps_mode", "passthrough", "-frames:v", str(frames), "-f", "null", "-")


def compare(program: str, plan: Plan, chunk: Chunk, rung: PlannedRung, source: str, made: str, how: str) -> list[str]:
    """Compare a chunk with its source frames by "ssim" or "vmaf"; `SCORES` names the file with the result."""
    clock = f"settb=AVTB,setpts=N/({plan.grid.rate})/TB"
    wanted = (*_cut(plan, chunk), *_scaled(plan.picture, rung), clock)
    measures = {"ssim": f"ssim=stats_file={SCORES['ssim']}", "vmaf": f"libvmaf=log_fmt=json:log_path={SCORES['vmaf']}"}
    graph = (
        _chain(f"0:{plan.picture.index}", wanted, "wanted"),
        _chain("1:v:0", ("setsar=1", "format=yuv420p", clock), "made"),
        f"[made][wanted]{measures[how]}[v]",
    )
    return [
        *(program, *START, *VERBOSE),
        *(*_seek(plan.grid, chunk), *_input(source), *_input(made)),
        *("-filter_complex", ";".join(graph), "-map", "[v]"),
        *("-fps_mode", "passthrough", "-frames:v", str(chunk.frames), "-f", "null", "-"),
    ]


def _input(path: str) -> tuple[str, ...]:
    return (*SAFE_INPUT, "-i", _file(path))


def _file(path: str) -> str:
    """Mark a path as a file, whatever it begins with."""
    return f"file:{path}"


def _maps(streams: Iterable[str]) -> list[str]:
    return [word for stream in streams for word in ("-map", stream)]


def _seek(grid: Grid, chunk: Chunk) -> tuple[str, ...]:
    """Seek to the key frame before the chunk; the seek cuts nothing, so filters see frames before the anchor too."""
    anchor = grid.anchor(chunk)
    if not anchor:
        return ("-copyts",)
    return ("-copyts", "-seek_timestamp", "1", "-noaccurate_seek", "-ss", _seconds(grid.origin + grid.time(anchor)))


def _split(plan: Plan, chunk: Chunk, rungs: Sequence[PlannedRung]) -> str:
    """Decode and cut once, then split into a branch `v0`, `v1`, … for each rung."""
    heads = [f"s{number}" for number in range(len(rungs))]
    common = _chain(f"0:{plan.picture.index}", (*_cut(plan, chunk), f"split={len(rungs)}"), *heads)
    branches = (
        _chain(head, _scaled(plan.picture, rung), f"v{number}")
        for number, (head, rung) in enumerate(zip(heads, rungs, strict=True))
    )
    return ";".join((common, *branches))


def _chain(source: str, filters: Iterable[str], *targets: str) -> str:
    return f"[{source}]{','.join(filters)}{''.join(f'[{target}]' for target in targets)}"


def _cut(plan: Plan, chunk: Chunk) -> tuple[str, ...]:
    """Select the frames of a chunk, on the grid, counted from 0."""
    grid = plan.grid
    anchor = grid.anchor(chunk)
    first = chunk.first_frame - anchor
    again, hold = _tail(grid) if chunk.last else ((), ())
    return (
        *_progressive(plan.picture),
        *("settb=AVTB", *again),
        f"fps={grid.rate}:start_time={_precise(grid.origin + grid.time(anchor))}",
        *hold,
        f"trim=start_frame={first}:end_frame={first + chunk.frames}",
        "setpts=PTS-STARTPTS",
        *_standard_range(plan.picture),
    )


def _tail(grid: Grid) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return filters before and after `fps`, which drops a last frame without a duration."""
    return ("tpad=stop_mode=clone:stop=1",), (f"tpad=stop_mode=clone:stop={ceil(LAST_CLONES * grid.rate)}",)


def _upright(picture: Picture) -> tuple[str, ...]:
    return _progressive(picture) + _standard_range(picture)


def _progressive(picture: Picture) -> tuple[str, ...]:
    return ("bwdif=mode=send_frame:parity=auto:deint=all",) if picture.deinterlace else ()


def _standard_range(picture: Picture) -> tuple[str, ...]:
    if not picture.tonemap:
        return ()
    return (
        f"zscale=tin={picture.tonemap}:pin={picture.primaries}:min={picture.matrix}:t=linear:npl=100",
        "format=gbrpf32le",
        "zscale=p=bt709",
        "tonemap=hable:desat=0",
        "zscale=t=bt709:m=bt709:r=tv",
        "format=yuv420p",
    )


def _scaled(picture: Picture, rung: PlannedRung) -> tuple[str, ...]:
    """Scale the picture to the size of a rung, with its colours in the tags, so that no player guesses them."""
    colors = picture.colors
    matrix = f":out_color_matrix={colors.matrix}" if picture.rgb else ""
    return (
        f"scale={rung.width}:{rung.height}:flags=bicubic{matrix}:out_range=tv",
        *("setsar=1", "format=yuv420p"),
        f"setparams=range=tv:colorspace={colors.matrix}:color_primaries={colors.primaries}:color_trc={colors.transfer}",
    )


def _still(picture: Picture, width: int, height: int) -> tuple[str, ...]:
    """Convert the picture for JPEG: always the matrix of BT.601, full range.

    The conversion goes through RGB, because the scaler does not convert from one matrix to another.
    """
    return (
        *(() if picture.rgb else (f"setparams=colorspace={picture.colors.matrix}",)),
        *(f"scale={width}:{height}:flags=bicubic", "format=gbrp"),
        *("scale=out_color_matrix=bt601:out_range=pc", "format=yuvj420p"),
    )


def _output(plan: Plan, chunk: Chunk, rung: PlannedRung, path: str, threads: int | None) -> tuple[str, ...]:
    """Write one rung of a chunk: fragments at key frames, with the times of the whole stream."""
    grid = plan.grid
    return (
        *_encoder(grid, rung, threads),
        *("-pix_fmt", "yuv420p", "-frames:v", str(chunk.frames), "-fps_mode", "cfr", "-r", str(grid.rate)),
        *NO_METADATA,
        *("-fflags", "+bitexact", "-video_track_timescale", str(grid.timescale)),
        *("-movflags", f"+frag_keyframe+default_base_moof+frag_discont{_header(plan, chunk)}"),
        *("-avoid_negative_ts", "disabled", "-output_ts_offset", _nearest(grid.time(chunk.first_frame))),
        *("-f", "mp4", _file(path)),
    )


def _header(plan: Plan, chunk: Chunk) -> str:
    """Return flags of the header. CMAF shows the first frame when it is decoded, and needs no edit list.

    In older plans the header of chunk 0 is written when the delay of reordered frames is known, with an edit list.
    """
    if plan.version >= CMAF_VERSION:
        return "+empty_moov+cmaf"
    return "+empty_moov" if chunk.number else "+delay_moov"


def _encoder(grid: Grid, rung: PlannedRung, threads: int | None) -> tuple[str, ...]:
    """Encode with capped constant quality, which suits chunks better than a bit rate, and key frames on the grid."""
    gop = str(grid.key_frame_distance)
    quality = ("-preset", rung.preset, "-crf", str(rung.crf))
    cap = ("-maxrate", str(rung.max_bitrate), "-bufsize", str(rung.buffer))
    own: tuple[str, ...]
    match rung.codec:
        case "h264":
            grid_only = ("-keyint_min", gop, "-sc_threshold", "0", "-flags", "+cgop+bitexact")
            own = (*grid_only, *_limit("-threads", "", threads))
        case "hevc":
            own = ("-x265-params", _x265(gop, threads), "-flags", "+bitexact", "-tag:v", "hvc1")
        case _:
            own = ("-flags", "+bitexact", *_limit("-svtav1-params", "lp=", threads))
    return ("-c:v", rung.encoder, *quality, *cap, "-g", gop, *own)


def _limit(option: str, name: str, threads: int | None) -> tuple[str, ...]:
    return (option, f"{name}{threads}") if threads else ()


def _x265(gop: str, threads: int | None) -> str:
    params = f"keyint={gop}:min-keyint={gop}:scenecut=0:open-gop=0:log-level=warning"
    return f"{params}:pools={threads}" if threads else params


def _audio_filters(grid: Grid, track: PlannedAudio, layout: str) -> str:
    """Fit audio to the picture, from its first frame to its end: cut what is early, fill gaps with silence."""
    filters = (
        f"asetpts=PTS-({_seconds(grid.origin)})/TB",
        f"aresample={track.sample_rate}:async=1:first_pts=0",
        f"aformat=sample_fmts=fltp:channel_layouts={layout}",
        *(("alimiter=limit=0.89:level=0:latency=1",) if track.downmix else ()),
        f"apad=whole_len={track.samples}",
        f"atrim=end_sample={track.samples}",
    )
    return ",".join(filters)


def _fragment(grid: Grid) -> int:
    """Return the microseconds of audio in a fragment."""
    return round(grid.time(grid.segment_frames) * 1_000_000)


def _seconds(time: Fraction) -> str:
    """Format a time in whole microseconds, rounded down."""
    return _decimal(floor(time * 1_000_000))


def _nearest(time: Fraction) -> str:
    return _decimal(round(time * 1_000_000))


def _precise(time: Fraction) -> str:
    """Format like `_seconds`, half a microsecond farther from 0: ffmpeg truncates this option as a binary fraction."""
    return f"{_seconds(time)}5"


def _decimal(microseconds: int) -> str:
    whole, rest = divmod(abs(microseconds), 1_000_000)
    return f"{'-' if microseconds < 0 else ''}{whole}.{rest:06d}"
