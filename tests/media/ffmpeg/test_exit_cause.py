"""How a tool ended: the cause by exit code and output of real builds, and whether a retry makes sense."""

import pytest

from reelstate.core.model import ClaimedTask, Failure, TaskKey
from reelstate.core.outcome import outcome_of
from reelstate.media.ffmpeg.exit_cause import ExitKind, Finished, ToolFailed, cause, failure, relevant_line

TASK = ClaimedTask(TaskKey(1, 0, 0), 1, 1, 3, 0, 60.0, None, None, "video", "cut", {})
OPENING = "[vost#0:0/libx264 @ 0x40ed6480] [error] Error while opening encoder - maybe incorrect parameters"

ENDINGS = [
    (0, "", None),
    (0, "[h264 @ 0x55] [error] no frame!", None),
    (0, "[warning] No space left on device is only a title", None),
    (0, "[error] Error writing trailer of out.mp4: No space left on device", ExitKind.DISK_FULL),
    (0, "[error] color=s=16000x16000: Cannot allocate memory", ExitKind.OUT_OF_MEMORY),
    (1, "[error] in.mp4: Invalid data found when processing input", ExitKind.BAD_INPUT),
    (183, "[in#0 @ 0x1b] [error] Error opening input: Invalid data found when processing input", ExitKind.BAD_INPUT),
    (1, "[mov,mp4 @ 0x55] [error] moov atom not found", ExitKind.BAD_INPUT),
    (234, "[magicyuv @ 0x1c] [error] Codec (magicyuv) not on whitelist 'h264,aac'", ExitKind.BAD_INPUT),
    (1, "[error] Format not on whitelist 'mov'", ExitKind.BAD_INPUT),
    (1, "[error] Picture size 16000x16000 exceeds specified max pixel count 40000000, see", ExitKind.BAD_INPUT),
    (1, "[fatal] Stream map '0:v' matches no streams.", ExitKind.BAD_INPUT),
    (1, "[error] Input/output error\n[error] in.mp4: Invalid data found when processing input", ExitKind.FAILED),
    (254, "[error] Error opening input: No such file or directory", ExitKind.FAILED),
    (1, f"x264 [error]: malloc of size 5353683 failed\n{OPENING}", ExitKind.OUT_OF_MEMORY),
    (
        187,
        f"{OPENING}\n[in#0/lavfi @ 0x40] [error] Error during demuxing: Cannot allocate memory",
        ExitKind.OUT_OF_MEMORY,
    ),
    (134, "terminate called after throwing an instance of 'std::bad_alloc'", ExitKind.OUT_OF_MEMORY),
    (127, "ffmpeg: error while loading shared libraries: libx.so: failed to map segment", ExitKind.OUT_OF_MEMORY),
    (228, "[error] Error writing trailer: No space left on device", ExitKind.DISK_FULL),
    (134, "[error] av_interleaved_write_frame(): Disk quota exceeded", ExitKind.DISK_FULL),
    (229, "[error] Error writing trailer: File too large", ExitKind.FILE_TOO_LARGE),
    (153, "", ExitKind.FILE_TOO_LARGE),
    (152, "", ExitKind.CPU_LIMIT),
    (255, "Exiting normally, received signal 24.", ExitKind.CPU_LIMIT),
    (255, "Exiting normally, received signal 15.", ExitKind.KILLED),
    (255, "", ExitKind.KILLED),
    (137, "", ExitKind.KILLED),
    (143, "", ExitKind.KILLED),
    (139, "", ExitKind.CRASHED),
    (139, "[error] in.mp4: Invalid data found when processing input", ExitKind.CRASHED),
    (134, "Assertion failed", ExitKind.CRASHED),
    (1, "[error] Unrecognized option 'x'.", ExitKind.FAILED),
    (1, "", ExitKind.FAILED),
]


@pytest.mark.parametrize("code, output, kind", ENDINGS)
def test_an_exit_has_one_cause(code: int, output: str, kind: ExitKind | None) -> None:
    assert cause(code, output) == kind


@pytest.mark.parametrize(
    "code, known, kind",
    [
        (137, {"oom_killed": True}, ExitKind.OUT_OF_MEMORY),
        (137, {"cpu_exceeded": True}, ExitKind.CPU_LIMIT),
        (137, {"cpu_exceeded": True, "oom_killed": True}, ExitKind.CPU_LIMIT),
        (123, {"cpu_exceeded": True}, ExitKind.CPU_LIMIT),
        (139, {"cpu_exceeded": True, "oom_killed": True}, ExitKind.CRASHED),
        (1, {"cpu_exceeded": True, "oom_killed": True}, ExitKind.FAILED),
        (0, {"cpu_exceeded": True, "oom_killed": True}, None),
    ],
)
def test_the_record_of_the_kernel_explains_a_kill_and_nothing_else(
    code: int, known: dict[str, bool], kind: ExitKind
) -> None:
    assert cause(code, "", **known) == kind


def failed(kind: ExitKind, output: str = "", code: int = 1) -> ToolFailed:
    return failure(kind, Finished(("/usr/bin/ffmpeg", "-i", "x"), code, 1.25, output, 0.5))


@pytest.mark.parametrize("kind", ExitKind)
def test_only_a_bad_input_is_final(kind: ExitKind) -> None:
    ended = outcome_of(TASK, failed(kind))
    assert isinstance(ended, Failure)
    assert ended.retryable is (kind is not ExitKind.BAD_INPUT)


def test_a_failure_is_described_in_one_line() -> None:
    output = f"x264 [error]: malloc of size 53 failed\n{OPENING}\n[error] Conversion failed!\n"
    assert str(failed(ExitKind.OUT_OF_MEMORY, output)) == (
        "ffmpeg ran out of memory after 1.2 s: x264 [error]: malloc of size 53 failed"
    )
    assert str(failed(ExitKind.CRASHED, "", 139)) == "ffmpeg crashed with exit code 139 after 1.2 s"
    assert failed(ExitKind.CRASHED, "", 139).finished.exit_code == 139


@pytest.mark.parametrize(
    "output, line",
    [
        ("", ""),
        ("one\n\ntwo\n \n", "two"),
        ("[mov @ 0x55bf] [error] first\n[warning] later\n", "first"),
        (
            "[error] https://u:hunter2@host/x?X-Amz-Signature=abc failed",
            "https://u:***@host/x?X-Amz-Signature=*** failed",
        ),
    ],
)
def test_the_line_that_explains_a_failure_is_plain_and_without_secrets(output: str, line: str) -> None:
    assert relevant_line(ExitKind.FAILED, output) == line


def test_a_long_line_is_cut() -> None:
    assert len(str(failed(ExitKind.FAILED, "x" * 60_000))) < 500
