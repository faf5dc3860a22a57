"""Protocols, demuxers, decoders and sizes that a source may use, for PyAV and ffmpeg alike."""

from __future__ import annotations

from typing import Final

PROTOCOLS: Final = ("file",)
"""No network or nested protocols: a source is fetched before ffmpeg opens it."""

DEMUXERS: Final = (
    *("mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "avi", "mpegts", "mpeg", "flv"),
    *("wav", "mp3", "flac", "ogg", "aac"),
)
"""No hls, concat, dash, sdp, image2 or lavfi, which open other files."""

VIDEO_DECODERS: Final = (
    *("h264", "hevc", "av1", "libdav1d", "vp8", "vp9", "libvpx", "libvpx-vp9"),
    *("mpeg1video", "mpeg2video", "mpeg4", "h263", "prores", "dnxhd", "mjpeg", "theora", "vc1", "ffv1"),
)
AUDIO_DECODERS: Final = (
    *("aac", "mp3", "mp3float", "mp2", "mp2float", "opus", "libopus", "vorbis", "libvorbis", "ac3", "eac3"),
    *("flac", "alac", "dca", "amrnb", "amrwb", "pcm_mulaw", "pcm_alaw", "pcm_u8", "pcm_s8", "pcm_s16le", "pcm_s16be"),
    *("pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be", "pcm_f32le", "pcm_f32be", "pcm_f64le", "pcm_f64be"),
)
CAPTION_DECODERS: Final = ("subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text")
DECODERS: Final = VIDEO_DECODERS + AUDIO_DECODERS + CAPTION_DECODERS

MAX_PIXELS: Final = 40_000_000
"""A little more than 8192 × 4320; decoders refuse more before they allocate memory."""
MAX_STREAMS: Final = 64
MAX_RATE: Final = 300
"""Frames per second: phones record slow motion at 240."""
