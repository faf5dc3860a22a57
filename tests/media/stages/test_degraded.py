"""What a source has and its stream has not: everything that is left out leaves its reason in `degraded` or the log."""

from pathlib import Path

from tests.media.clips import ffmpeg
from tests.media.deployment import Stream, start_deployment
from tests.media.source_videos import BUILD, X264, profile

ONE_RUNG = profile(rungs=profile()["rungs"][1:])
PICTURE = ("-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25")
SINE = ("-f", "lavfi", "-i", "sine=sample_rate=48000")


def made(path: Path, *arguments: str, seconds: float = 1) -> Path:
    ffmpeg(BUILD, *arguments, *X264.split(), "-t", str(seconds), str(path))
    return path


def repeated(count: int, *words: str) -> list[str]:
    return [word for _ in range(count) for word in words]


def peak(stream: Stream, number: int = 0) -> int:
    """The loudest sample of an audio track, of 32767."""
    playlist = stream.path(stream.manifest["audio"][number]["playlist"])
    data = ffmpeg(BUILD, "-i", str(playlist), "-f", "s16le", "-ac", "1", "-")
    return max(map(abs, memoryview(data).cast("h")), default=0)


async def test_mu_law_and_a_law_audio_is_audible(tmp_path: Path) -> None:
    source = made(
        tmp_path / "laws.mov", *PICTURE, *SINE, "-map", "0", "-map", "1", "-map", "1",
        *("-ar", "8000", "-c:a:0", "pcm_mulaw", "-c:a:1", "pcm_alaw"),
    )  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        assert [peak(stream, number) > 1000 for number in range(2)] == [True, True]
        assert stream.detail.job.degraded is None


async def test_audio_that_no_decoder_is_allowed_for_is_left_out_and_degraded_names_it(tmp_path: Path) -> None:
    allowed = made(tmp_path / "adpcm.mov", *PICTURE, *SINE, "-c:a", "adpcm_ima_qt")
    unknown = tmp_path / "unknown.mov"
    unknown.write_bytes(allowed.read_bytes().replace(b"ima4", b"zqzq"))
    async with start_deployment(tmp_path) as here:
        for source, codec in ((allowed, "adpcm_ima_qt"), (unknown, "unknown")):
            stream = await here.stream(source, profile=ONE_RUNG)
            assert stream.manifest["audio"] == []
            assert stream.detail.job.degraded == [f"audio stream 1 ({codec}) is left out: its codec is not supported"]


async def test_audio_of_a_file_without_an_index_that_can_not_be_copied_is_left_out_and_the_rest_is_cut(
    tmp_path: Path,
) -> None:
    source = made(tmp_path / "adpcm.avi", *PICTURE, *SINE, *SINE, "-map", "0", "-map", "1", "-map", "2",
                  "-c:a:0", "adpcm_yamaha", "-c:a:1", "mp3", seconds=2)  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        (reason,) = stream.detail.job.degraded
        assert reason.startswith("audio stream 1 (adpcm_yamaha) is left out")
        assert len(stream.manifest["audio"]) == 1
        assert len(stream.detail.plan["fetch"]["chunks"]) == 2


async def test_tracks_beyond_the_limit_are_left_out_and_degraded_names_them(tmp_path: Path) -> None:
    (tmp_path / "words.srt").write_text("1\n00:00:00,000 --> 00:00:00,500\nhello\n")
    source = made(
        tmp_path / "many.mkv", *PICTURE, *SINE, "-i", str(tmp_path / "words.srt"), "-map", "0",
        *repeated(18, "-map", "1"), *repeated(17, "-map", "2"), "-c:a", "aac", "-c:s", "srt", seconds=0.5,
    )  # fmt: skip
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile=ONE_RUNG)
        assert (len(stream.manifest["audio"]), len(stream.manifest["captions"])) == (16, 16)
        assert stream.detail.job.degraded == [
            "audio streams 17, 18 (aac) are left out: at most 16 audio tracks are published",
            "subtitle stream 35 (subrip) is left out: at most 16 subtitle tracks are published",
        ]


async def test_a_second_picture_and_pictures_of_text_are_degraded_but_data_and_covers_are_logged(
    tmp_path: Path,
) -> None:
    font = tmp_path / "font.ttf"
    font.write_bytes(b"no font")
    ffmpeg(BUILD, "-f", "lavfi", "-i", "color=red:s=64x64", "-frames:v", "1", str(tmp_path / "cover.jpg"))
    (tmp_path / "words.srt").write_text("1\n00:00:00,000 --> 00:00:00,500\nhello\n")
    pictures = made(tmp_path / "two.mkv", *PICTURE, *PICTURE, "-map", "0", "-map", "1",
                    *("-attach", str(font), "-metadata:s:t:0", "mimetype=application/x-truetype-font"),
                    *("-attach", str(tmp_path / "cover.jpg"), "-metadata:s:t:1", "mimetype=image/jpeg"))  # fmt: skip
    timed = made(tmp_path / "timed.mov", *PICTURE, "-timecode", "01:00:00:00")
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(pictures, profile=ONE_RUNG)
        assert stream.detail.job.degraded == [
            "video stream 1 (h264) is left out: one video stream is published, the first"
        ]
        logged = [line.message for line in await here.logs(stream.detail.job.id)]
        assert "attachment stream 2 is left out: it is neither video, audio nor text" in logged
        assert "cover stream 3 (mjpeg) is left out: it is neither video, audio nor text" in logged
        stream = await here.stream(timed, profile=ONE_RUNG)
        assert stream.detail.job.degraded is None
        logged = [line.message for line in await here.logs(stream.detail.job.id)]
        assert "data stream 1 is left out: it is neither video, audio nor text" in logged


async def test_audio_that_goes_on_after_the_picture_is_degraded_with_how_much_is_cut(tmp_path: Path) -> None:
    picture = made(tmp_path / "one.mp4", *PICTURE, seconds=0.04)
    for name in ("long.mp4", "long.mkv"):
        ffmpeg(BUILD, "-i", str(picture), *SINE, "-map", "0", "-map", "1", "-c:v", "copy", "-c:a", "aac",
               "-t", "10", str(tmp_path / name))  # fmt: skip
        async with start_deployment(tmp_path) as here:
            stream = await here.stream(tmp_path / name, profile=ONE_RUNG)
            (reason,) = stream.detail.job.degraded
            assert reason.startswith("audio stream 1 ends ")
            assert 9 < float(reason.removeprefix("audio stream 1 ends ").split()[0]) < 10.1
            assert reason.endswith(" s after the picture and is cut there")


async def test_a_profile_that_wants_no_audio_or_captions_leaves_nothing_out(tmp_path: Path) -> None:
    source = made(tmp_path / "adpcm.mov", *PICTURE, *SINE, "-c:a", "adpcm_ima_qt")
    async with start_deployment(tmp_path) as here:
        stream = await here.stream(source, profile={**ONE_RUNG, "audio": None})
        assert stream.detail.job.degraded is None
