"""The ladder: three rungs and a sound track, as a profile and as arguments for ffmpeg."""

from typing import Any, Final

PRESET: Final = "veryfast"
SEGMENT_SECONDS: Final = 6
SEGMENT_FRAMES: Final = 180
AUDIO: Final = 128_000
RUNGS: Final[tuple[dict[str, Any], ...]] = (
    {"name": "1080p", "height": 1080, "crf": 23, "max_bitrate": 6_000_000, "buffer": 12_000_000, "preset": PRESET},
    {"name": "720p", "height": 720, "crf": 23, "max_bitrate": 3_500_000, "buffer": 7_000_000, "preset": PRESET},
    {"name": "480p", "height": 480, "crf": 24, "max_bitrate": 1_600_000, "buffer": 3_200_000, "preset": PRESET},
)
WIDTHS: Final = {1080: 1920, 720: 1280, 480: 854}


def profile(chunk_seconds: int) -> dict[str, Any]:
    return {
        "name": "bench",
        "rungs": list(RUNGS),
        "audio": {"bitrate": AUDIO},
        "segment_seconds": SEGMENT_SECONDS,
        "gop_seconds": SEGMENT_SECONDS,
        "chunk_seconds": chunk_seconds,
        "thumbnails": False,
        "sprites": False,
        "captions": False,
    }


def describe() -> str:
    rungs = ", ".join(f"{rung['name']} crf {rung['crf']} ≤ {rung['max_bitrate'] / 1e6:g} Mbit/s" for rung in RUNGS)
    return f"libx264 {PRESET}: {rungs}; key frames every {SEGMENT_FRAMES} frames; AAC {AUDIO // 1000} kbit/s"


def encoders() -> list[str]:
    """Return the encoder settings of the pipeline, for one command with all rungs."""
    words = ["-c:v", "libx264", "-preset", PRESET, "-pix_fmt", "yuv420p", "-g", str(SEGMENT_FRAMES)]
    words += ["-keyint_min", str(SEGMENT_FRAMES), "-sc_threshold", "0", "-flags:v", "+cgop"]
    for number, rung in enumerate(RUNGS):
        words += [f"-crf:v:{number}", str(rung["crf"])]
        words += [f"-maxrate:v:{number}", str(rung["max_bitrate"]), f"-bufsize:v:{number}", str(rung["buffer"])]
    return [*words, "-c:a", "aac", "-b:a", str(AUDIO), "-ar", "48000", "-ac", "2"]


def branches() -> str:
    """Return one decode, split and scaled as the pipeline does it."""
    heads = [f"[s{number}]" for number in range(len(RUNGS))]
    scaled = (
        f"{head}scale={WIDTHS[rung['height']]}:{rung['height']}:flags=bicubic[v{number}]"
        for number, (head, rung) in enumerate(zip(heads, RUNGS, strict=True))
    )
    return ";".join((f"[0:v]split={len(RUNGS)}{''.join(heads)}", *scaled))
