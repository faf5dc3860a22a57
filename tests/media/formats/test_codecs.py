"""Codec strings of known configurations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reelstate.media.formats.codecs import CONFIGURATION, UnknownCodec, codec_string
from tests.core.properties import quickly


def esds(specific: str, *, object_type: int = 0x40, flags: str = "00") -> bytes:
    specific_bytes = bytes.fromhex(specific)
    inner = bytes([5, len(specific_bytes)]) + specific_bytes
    config = bytes([object_type, 0x15]) + bytes(11) + inner
    optional = {"00": b"", "80": b"\0\1", "40": b"\2ab", "20": b"\0\1", "e0": b"\0\1\2ab\0\1"}[flags]
    stream = bytes.fromhex("0001" + flags) + optional + bytes([4, 0x80, 0x80, len(config)]) + config
    return bytes(4) + bytes([3, 0x80, 0x80, 0x80, len(stream)]) + stream


@pytest.mark.parametrize(
    "entry, configuration, name",
    [
        ("avc1", bytes.fromhex("01640028ffe1"), "avc1.640028"),
        ("avc1", bytes.fromhex("0142c01effe1"), "avc1.42c01e"),
        ("avc3", bytes.fromhex("014d401fffe1"), "avc3.4d401f"),
        ("hvc1", bytes.fromhex("0101600000009000000000005df000fc"), "hvc1.1.6.L93.90"),
        ("hev1", bytes.fromhex("010220000000b0000000000096f000fc"), "hev1.2.4.L150.B0"),
        ("hvc1", bytes.fromhex("01616000000000000000000099f000fc"), "hvc1.A1.6.H153"),
        ("av01", bytes.fromhex("81040c00"), "av01.0.04M.08"),
        ("av01", bytes.fromhex("810d4c00"), "av01.0.13M.10"),
        ("av01", bytes.fromhex("814de000"), "av01.2.13H.12"),
        ("av01", bytes.fromhex("810c8000"), "av01.0.12H.08"),
        ("mp4a", esds("1190"), "mp4a.40.2"),
        ("mp4a", esds("2b92"), "mp4a.40.5"),
        ("mp4a", esds("f948"), "mp4a.40.42"),
        ("mp4a", esds("1190", object_type=0x6B), "mp4a.6b"),
        ("mp4a", esds("1190", flags="80"), "mp4a.40.2"),
        ("mp4a", esds("1190", flags="40"), "mp4a.40.2"),
        ("mp4a", esds("1190", flags="20"), "mp4a.40.2"),
        ("mp4a", esds("1190", flags="e0"), "mp4a.40.2"),
    ],
)
def test_the_codec_string_is_read_from_the_configuration(entry: str, configuration: bytes, name: str) -> None:
    assert codec_string(entry, {CONFIGURATION[entry]: configuration}) == name


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(UnknownCodec, match="'vp09'"):
        codec_string("vp09", {})
    with pytest.raises(UnknownCodec, match="has no avcC"):
        codec_string("avc1", {"hvcC": b""})


def test_an_unexpected_descriptor_is_refused() -> None:
    with pytest.raises(UnknownCodec, match="descriptor 9, expected 3"):
        codec_string("mp4a", {"esds": bytes(4) + b"\x09\1\0"})


@quickly
@given(st.sampled_from(sorted(CONFIGURATION)), st.binary(max_size=40))
def test_any_configuration_is_parsed_or_refused(entry: str, data: bytes) -> None:
    try:
        name = codec_string(entry, {CONFIGURATION[entry]: data})
    except UnknownCodec:
        return
    assert name.startswith(f"{entry}.")
