"""Every ffmpeg command of the pipeline as a list of arguments, the program first. Pure: nothing is run here.

A chunk is cut on the plan's grid, not by seeking: the seek only has to land before it. Timestamps stay those of the
source (`-copyts`), frames are put on the grid by `fps`, and counted. So a chunk holds exactly the frames that the
whole would hold in its place, for constant and variable rates and for containers that round their timestamps.
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
TALKATIVE: Final = ("-loglevel", "level+info")
SAFE_INPUT: Final = (
    *("-protocol_whitelist", ",".join(PROTOCOLS)),
    *("-format_whitelist", ",".join(DEMUXERS)),
    *("-codec_whitelist", ",".join(DECODERS)),
    *("-max_pixels", str(MAX_PIXELS)),
)
"""Stands before every input: no other file, no network, no decoder that is not on our list, no giant picture."""
ANONYMOUS: Final = ("-map_metadata", "-1", "-map_chapters", "-1")
BITEXACT: Final = ("-fflags", "+bitexact", "-flags", "+bitexact")
MP4_VIDEO: Final = frozenset({"h264", "hevc", "av1", "libdav1d", "mpeg4", "mpeg2video"})
MP4_AUDIO: Final = frozenset({"aac", "mp3", "mp3float", "ac3", "eac3", "opus", "flac", "alac"})
CMAF_VERSION: Final = 3
"""The first version of plans whose chunks are CMAF."""
LAST_CLONES: Final = Fraction(1)
"""Seconds by which the last frame may be held where a container overstates its length."""
SCORES: Final = {"ssim": "ssim.txt", "vmaf": "vmaf.json"}
"""The file in the working folder that a comparison writes its scores to."""


def remux_format(facts: SourceFacts) -> str:
    """The container that holds the source's streams as they are: mp4 if it can, for its exact times, else matroska."""
    fits = facts.video is not None and facts.video.codec in MP4_VIDEO
    fits = fits and all(track.codec in MP4_AUDIO for track in facts.audio if is_decodable(track))
    return "mp4" if fits and not any(is_text(track) for track in facts.subtitles) else "matroska"


def remux(program: str, facts: SourceFacts, source: str, target: str) -> list[str]:
    """Give a source without an index one: copy the streams that are used into a file that has it."""
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
    """Encode a chunk to a file for each of these rungs, with one decode for all. `outputs` maps names to paths.

    Without `seek` the source is decoded from its beginning, so that a chunk in which nothing can be decoded repeats the
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
    """Encode a whole sound track to fragments of about a segment, exactly as long as the picture."""
    layout = "mono" if track.channels == 1 else "stereo"
    seconds = Fraction(track.samples, track.sample_rate)
    return [
        *(program, *START, *QUIET),
        *("-copyts", *_input(source)),
        *("-filter_complex", f"[0:{track.index}]{_sound(plan.grid, track, layout)}[a]", "-map", "[a]"),
        *("-c:a", "aac", "-b:a", str(track.bitrate), "-ar", str(track.sample_rate), "-ac", str(track.channels)),
        *("-t", _seconds(seconds + 1), *ANONYMOUS, *BITEXACT),
        # The priming of the sound is edited out; CMAF allows it, and ffmpeg leaves it out unless asked.
        *("-use_editlist", "1", "-movflags", "+delay_moov+default_base_moof+cmaf"),
        *("-frag_duration", str(_fragment(plan.grid))),
        *("-f", "mp4", _file(output)),
    ]


def poster(program: str, plan: Plan, picture: Poster, source: str, output: str, *, seek: bool = True) -> list[str]:
    """The most telling of some frames near the start, or without `seek` of the first frames, as JPEG."""
    filters = (*_upright(plan.picture), *_still(plan.picture, picture.width, picture.height), "thumbnail=n=24")
    at = plan.grid.origin + picture.at
    return [
        *(program, *START, *QUIET),
        *("-copyts", *(("-seek_timestamp", "1", "-noaccurate_seek", "-ss", _seconds(at)) if seek else ())),
        *_input(source),
        *("-filter_complex", _chain(f"0:{plan.picture.index}", filters, "v"), "-map", "[v]"),
        *("-frames:v", "1", "-fps_mode", "passthrough", "-q:v", "3", *ANONYMOUS, *BITEXACT),
        *("-f", "image2", "-update", "1", _file(output)),
    ]


def sprite_sheets(
    program: str, plan: Plan, sprites: Sprites, source: str, folder: str, *, key_frames_only: bool = True
) -> list[str]:
    """Sheets `sprites-1.jpg`, … in the folder; made of key frames alone they cost a fraction of a full decode."""
    grid = plan.grid
    # fps drops a frame that nothing follows, and a short film may have one key frame only.
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
        *("-frames:v", str(sprites.sheets), "-fps_mode", "passthrough", "-q:v", "4", *ANONYMOUS, *BITEXACT),
        *("-f", "image2", "-start_number", "1", _file(f"{folder.replace('%', '%%')}/sprites-%d.jpg")),
    ]


def captions(program: str, plan: Plan, track: PlannedCaptions, source: str, output: str) -> list[str]:
    """A text track as one WebVTT file that counts from the first frame."""
    return [
        *(program, *START, *QUIET),
        *("-copyts", *_input(source), "-map", f"0:{track.index}", "-c:s", "webvtt"),
        *("-t", _seconds(plan.grid.origin + plan.grid.duration), "-output_ts_offset", _seconds(-plan.grid.origin)),
        *(*ANONYMOUS, *BITEXACT, "-f", "webvtt", _file(output)),
    ]


def decode_check(program: str, files: Mapping[str, int], *, key_frames_only: bool = False) -> list[str]:
    """Decode made files and fail at the first error; of their key frames alone at a hundredth of the cost.

    `files` maps paths to the frames that each has at most. One thread decodes a file: many files are read at once.
    """
    skip = ("-skip_frame", "nokey", "-threads", "1") if key_frames_only else ()
    return [
        *(program, *START, *QUIET, "-xerror"),
        *(word for path in files for word in ("-err_detect", "explode", *skip, *_input(path))),
        *(word for number, frames in enumerate(files.values()) for word in _nowhere(number, frames)),
    ]


def _nowhere(number: int, frames: int) -> tuple[str, ...]:
    return ("-map", f"{number}:v:0", "-fps_mode", "passthrough", "-frames:v", str(frames), "-f", "null", "-")


def compare(program: str, plan: Plan, chunk: Chunk, rung: PlannedRung, source: str, made: str, how: str) -> list[str]:
    """Compare a made chunk with the frames it was made of, by "ssim" or "vmaf"; `SCORES` names the file of results."""
    clock = f"settb=AVTB,setpts=N/({plan.grid.rate})/TB"
    wanted = (*_cut(plan, chunk), *_scaled(plan.picture, rung), clock)
    measures = {"ssim": f"ssim=stats_file={SCORES['ssim']}", "vmaf": f"libvmaf=log_fmt=json:log_path={SCORES['vmaf']}"}
    graph = (
        _chain(f"0:{plan.picture.index}", wanted, "wanted"),
        _chain("1:v:0", ("setsar=1", "format=yuv420p", clock), "made"),
        f"[made][wanted]{measures[how]}[v]",
    )
    return [
        *(program, *START, *TALKATIVE),
        *(*_seek(plan.grid, chunk), *_input(source), *_input(made)),
        *("-filter_complex", ";".join(graph), "-map", "[v]"),
        *("-fps_mode", "passthrough", "-frames:v", str(chunk.frames), "-f", "null", "-"),
    ]


def _input(path: str) -> tuple[str, ...]:
    return (*SAFE_INPUT, "-i", _file(path))


def _file(path: str) -> str:
    """A path that is a path, whatever it begins with."""
    return f"file:{path}"


def _maps(streams: Iterable[str]) -> list[str]:
    return [word for stream in streams for word in ("-map", stream)]


def _seek(grid: Grid, chunk: Chunk) -> tuple[str, ...]:
    """To the key frame before the chunk; nothing is cut by the seek, so frames before the anchor are seen too."""
    anchor = grid.anchor(chunk)
    if not anchor:
        return ("-copyts",)
    return ("-copyts", "-seek_timestamp", "1", "-noaccurate_seek", "-ss", _seconds(grid.origin + grid.time(anchor)))


def _split(plan: Plan, chunk: Chunk, rungs: Sequence[PlannedRung]) -> str:
    """One decode, cut and mapped once, then a branch `v0`, `v1`, … for each rung."""
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
    """The frames of a chunk, on the grid, counted from 0."""
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
    """Before and after `fps`, which drops a last frame that a container gives no time, and ends where it is told to."""
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
    """The picture in the size of a rung, its colours in the tags, so that no player has to guess them."""
    colors = picture.colors
    matrix = f":out_color_matrix={colors.matrix}" if picture.rgb else ""
    return (
        f"scale={rung.width}:{rung.height}:flags=bicubic{matrix}:out_range=tv",
        *("setsar=1", "format=yuv420p"),
        f"setparams=range=tv:colorspace={colors.matrix}:color_primaries={colors.primaries}:color_trc={colors.transfer}",
    )


def _still(picture: Picture, width: int, height: int) -> tuple[str, ...]:
    """The picture as a JPEG has it: always in the matrix of BT.601, in full range.

    It is converted by way of RGB: from one matrix to another the scaler changes nothing.
    """
    return (
        *(() if picture.rgb else (f"setparams=colorspace={picture.colors.matrix}",)),
        *(f"scale={width}:{height}:flags=bicubic", "format=gbrp"),
        *("scale=out_color_matrix=bt601:out_range=pc", "format=yuvj420p"),
    )


def _output(plan: Plan, chunk: Chunk, rung: PlannedRung, path: str, threads: int | None) -> tuple[str, ...]:
    """One rung of a chunk: fragments at key frames, at their place in the whole stream."""
    grid = plan.grid
    return (
        *_encoder(grid, rung, threads),
        *("-pix_fmt", "yuv420p", "-frames:v", str(chunk.frames), "-fps_mode", "cfr", "-r", str(grid.rate)),
        *ANONYMOUS,
        *("-fflags", "+bitexact", "-video_track_timescale", str(grid.timescale)),
        *("-movflags", f"+frag_keyframe+default_base_moof+frag_discont{_header(plan, chunk)}"),
        *("-avoid_negative_ts", "disabled", "-output_ts_offset", _nearest(grid.time(chunk.first_frame))),
        *("-f", "mp4", _file(path)),
    )


def _header(plan: Plan, chunk: Chunk) -> str:
    """CMAF shows the first frame when it is decoded, and so has no edit list for the delay of reordered frames.

    By older plans the header of chunk 0 is written when that delay is known, with an edit list that takes it out.
    """
    if plan.version >= CMAF_VERSION:
        return "+empty_moov+cmaf"
    return "+empty_moov" if chunk.number else "+delay_moov"


def _encoder(grid: Grid, rung: PlannedRung, threads: int | None) -> tuple[str, ...]:
    """Capped constant quality, which unlike a bit rate costs little when cut in chunks; key frames on the grid."""
    gop = str(grid.key_frame_distance)
    quality = ("-preset", rung.preset, "-crf", str(rung.crf))
    cap = ("-maxrate", str(rung.max_bitrate), "-bufsize", str(rung.buffer))
    own: tuple[str, ...]
    match rung.codec:
        case "h264":
            grid_alone = ("-keyint_min", gop, "-sc_threshold", "0", "-flags", "+cgop+bitexact")
            own = (*grid_alone, *_limit("-threads", "", threads))
        case "hevc":
            own = ("-x265-params", _x265(gop, threads), "-flags", "+bitexact", "-tag:v", "hvc1")
        case _:
            own = ("-flags", "+bitexact", *_limit("-svtav1-params", "lp=", threads))
    return ("-c:v", rung.encoder, *quality, *cap, "-g", gop, *own)


def _limit(option: str, name: str, threads: int | None) -> tuple[str, ...]:
    return (option, f"{name}{threads}") if threads else ()


def _x265(gop: str, threads: int | None) -> str:
    words = f"keyint={gop}:min-keyint={gop}:scenecut=0:open-gop=0:log-level=warning"
    return f"{words}:pools={threads}" if threads else words


def _sound(grid: Grid, track: PlannedAudio, layout: str) -> str:
    """From the first frame of the picture to its end: what is early is cut, what is missing is silence."""
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
    """Microseconds of sound in a fragment."""
    return round(grid.time(grid.segment_frames) * 1_000_000)


def _seconds(time: Fraction) -> str:
    """In microseconds, never later than meant."""
    return _decimal(floor(time * 1_000_000))


def _nearest(time: Fraction) -> str:
    return _decimal(round(time * 1_000_000))


def _precise(time: Fraction) -> str:
    """The same, half a microsecond farther from 0: ffmpeg reads this option as a binary fraction and truncates it."""
    return f"{_seconds(time)}5"


def _decimal(microseconds: int) -> str:
    whole, rest = divmod(abs(microseconds), 1_000_000)
    return f"{'-' if microseconds < 0 else ''}{whole}.{rest:06d}"
