"""Escape control characters in text for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

NEWLINE, TAB = "\n", "\t"
_CONTROLS: Final = (
    range(0x20),  # C0: escape, carriage return, backspace, alarm
    range(0x7F, 0xA0),  # delete, and C1: U+009B begins a control sequence as ESC [ does
    (0x061C, 0x200E, 0x200F),  # marks of direction
    range(0x2028, 0x202F),  # line separators, embeddings and overrides of direction
    range(0x2066, 0x206A),  # isolates of direction
    range(0xD800, 0xE000),  # lone surrogates, which UTF-8 can't encode
)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # noqa: PLR2004 - two hex digits


def _table(kept: Iterable[str]) -> dict[int, str]:
    return {code: _escape(code) for codes in _CONTROLS for code in codes if chr(code) not in kept}


_LINE: Final = _table(())
_TEXT: Final = _table((NEWLINE, TAB))


def printable_line(text: str) -> str:
    """Return the text as one line: every control character is escaped, line breaks and tabs included."""
    return text if text.isascii() and text.isprintable() else text.translate(_LINE)


def printable_text(text: str) -> str:
    """Return the text with line breaks and tabs; every other control character is escaped."""
    return text if text.isascii() and text.isprintable() else text.translate(_TEXT)
