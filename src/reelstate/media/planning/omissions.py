"""What of a source is left out of its streams, as sentences for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reelstate.media.planning.profile import Profile
from reelstate.media.planning.tracks import MAX_TRACKS, is_decodable, is_text
from reelstate.media.sources.facts import AudioFacts, OtherFacts, SourceFacts, SubtitleFacts


def omitted_content(facts: SourceFacts, profile: Profile) -> Iterator[str]:
    """Yield the streams with content for viewers that are left out, with the reason."""
    videos = [each for each in facts.others if each.kind == "video"]
    yield from _sentences("video", videos, "one video stream is published, the first")
    if profile.audio:
        decodable = [track for track in facts.audio if is_decodable(track)]
        unsupported = [track for track in facts.audio if track not in decodable]
        yield from _sentences("audio", unsupported, "its codec is not supported")
        yield from _sentences("audio", decodable[MAX_TRACKS:], f"at most {MAX_TRACKS} audio tracks are published")
    if profile.captions:
        texts = [track for track in facts.subtitles if is_text(track)]
        bitmaps = [track for track in facts.subtitles if track not in texts]
        yield from _sentences("subtitle", bitmaps, "it is not text")
        yield from _sentences("subtitle", texts[MAX_TRACKS:], f"at most {MAX_TRACKS} subtitle tracks are published")


def omitted_extras(facts: SourceFacts) -> Iterator[str]:
    """Yield the streams that no player shows, with the reason."""
    for kind in ("cover", "data", "attachment"):
        others = [each for each in facts.others if each.kind == kind]
        yield from _sentences(kind, others, "it is neither video, audio nor text")


def _sentences(kind: str, streams: Sequence[AudioFacts | SubtitleFacts | OtherFacts], reason: str) -> Iterator[str]:
    """Yield one sentence per codec."""
    for codec in dict.fromkeys(stream.codec for stream in streams):
        numbers = [str(stream.index) for stream in streams if stream.codec == codec]
        name = f" ({codec})" if codec else ""
        subject, verb = ("stream", "is") if len(numbers) == 1 else ("streams", "are")
        yield f"{kind} {subject} {', '.join(numbers)}{name} {verb} left out: {reason}"
