"""The guide to HTTP from its first line on: a server, a key, a job that is read and cancelled."""

import json
import re
import shutil
from pathlib import Path

import pytest

from reelstate.services.keys import Scope
from tests.docs.pages import ROOT, Terminals, blocks, free_port

GUIDE = "docs/guides/http.md"
PORT = "8700"


@pytest.mark.skipif(shutil.which("curl") is None, reason="the guide is followed with curl, which is not here")
def test_the_guide_leads_from_nothing_to_a_job(tmp_path: Path) -> None:
    up, make_key, job, manage = blocks(GUIDE, "sh")
    port = free_port()
    with Terminals(tmp_path) as terminals:
        terminals.start(f"{up.strip()} --port {port}")
        terminals.type(make_key)
        printed = terminals.type(job.replace(PORT, port))
        documents = [json.loads(each) for each in re.split(r"(?<=\})(?=\{)", printed.strip())]
        shown, events, listed, cancelled = documents
        assert (shown["user_id"], shown["pipeline"]) == ("ada", "transcode")
        assert events["items"][0]["to"] == "pending"
        assert "items" in listed
        assert cancelled == {"id": shown["id"], "verdict": "ok", "error": None, "hint": None}
        wrong = "ada $API/jobs --header 'Content-Type: application/json' --data '{\"pipeline\": \"transcod\"}' || true"
        problem = terminals.type("\n".join([*job.replace(PORT, port).splitlines()[:2], wrong]))
        assert json.loads(problem) == json.loads(*blocks(GUIDE, "json"))
        (line,) = [line for line in terminals.type("reel keys").splitlines() if "ada-laptop" in line]
        for command in manage.splitlines()[1:]:
            terminals.type(command.replace("KEY", line.split()[0]))


def test_the_guide_names_every_scope() -> None:

    text = (ROOT / GUIDE).read_text()
    assert [scope for scope in Scope if f"| `{scope}` |" not in text] == []
