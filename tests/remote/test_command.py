"""What `reel worker --server` and `reel workers register` refuse."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from reelstate.cli.main import reel
from reelstate.core.errors import InvalidRequest


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["worker", "--server", "https://reel.example.org"], "needs a key"),
        (["worker", "--server", "http://10.1.2.3:8700", "--key-file", "KEY"], "unencrypted"),
        (["worker", "--server", "reel.example.org", "--key-file", "KEY"], "is not the URL of a server"),
        (["worker", "--server", "http://127.0.0.1:9", "--key-file", "none"], "unreadable"),
        (["workers", "register", "two words"], "invalid name 'two words' for a worker"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_hint(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("REEL_SERVER_URL", "REEL_SERVER_KEY", "REEL_SERVER_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "KEY").write_text("reel_key\n")
    answer = CliRunner().invoke(reel, arguments)
    assert isinstance(answer.exception, InvalidRequest)
    assert message in str(answer.exception)
    assert answer.exception.hint
    assert "reel_key" not in answer.output + str(answer.exception)


def test_the_key_is_never_shown_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REEL_SERVER_URL", "https://reel.example.org")
    monkeypatch.setenv("REEL_SERVER_KEY", "reel_canary")
    answer = CliRunner().invoke(reel, ["config", "--json"])
    assert answer.exit_code == 0
    assert "REEL_SERVER_KEY" in answer.output
    assert "canary" not in answer.output
