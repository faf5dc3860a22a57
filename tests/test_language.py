"""The project uses the words of its field: no file has a word of the list below, except in the places named."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = (
    "src",
    "tests",
    "docs",
    "bench",
    "examples",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
)
ENDINGS = {".py", ".md", ".sql", ".lua", ".toml", ".yaml", ".json", ".html", ".js"}
BANNED = {
    "amid plenty": "busy",
    "bells?": "wake-up",
    "births?": "creation",
    "born": "created",
    "by hand": "manual",
    "desks?": "reporter",
    "doorbell": "wake-up",
    "ears": "listener",
    "farewell": "shutdown timeout",
    "films?": "video, source or stream",
    "heeds?": "handle",
    "houses?": "deployment, server or cluster",
    "killers?": "poison task",
    "librarians?": "publisher",
    "mend(?:s|ed|ing)?": "fix or repair",
    "most_[a-z_]+": "MAX_",
    "outposts?": "remote worker",
    "patience": "timeout",
    "studios?": "media tools",
    "suspects?": "isolated task, or flagged job",
    "told": "reported, returned or logged",
    "uncharged": "does not count as an attempt",
    "vain": "empty",
}
WORD = re.compile(rf"(?<![A-Za-z])({'|'.join(BANNED)})(?![A-Za-z])", re.IGNORECASE)
ALLOWED: dict[str, str] = {
    "src/reelstate/media/sources/probe_child/facts.py": "film is a transfer function of ITU-T H.273",
    "tests/test_language.py": "it holds the list",
}
"""Files that may use such a word, with the reason."""


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip("the list of files needs a git checkout")
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.suffix in ENDINGS and path.name != "package-lock.json" and path.exists()]


def found_in(text: str) -> list[tuple[int, str]]:
    """The line and the word of every banned word in a text; `_` and digits part words as spaces do."""
    return [(number, word[0]) for number, line in enumerate(text.splitlines(), 1) for word in WORD.finditer(line)]


def test_no_file_uses_a_word_of_the_old_language() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word}"
        for path in files()
        if str(path.relative_to(ROOT)) not in ALLOWED
        for number, word in found_in(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"{len(found)} words that are not used any more (see BANNED):\n" + "\n".join(found[:50])


def test_no_file_is_named_with_such_a_word() -> None:
    assert not [str(path.relative_to(ROOT)) for path in files() if WORD.search(str(path.relative_to(ROOT)))]


@pytest.mark.parametrize(
    "text, words",
    [
        ("the bell rings", ["bell"]),
        ("def _told_busy(): ...", ["told"]),
        ("MOST_UNSENT = 3", ["MOST_UNSENT"]),
        ("a labelled umbrella, almost_empty", []),
    ],
)
def test_the_list_finds_words_and_parts_of_names(text: str, words: list[str]) -> None:
    assert [word for _, word in found_in(text)] == words
