"""A video is uploaded, played while frames advance, gets a second version, is rolled back, deleted and restored."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.numbered import make_numbered_video
from tests.dashboard.conftest import open_page
from tests.dashboard.deployment import Deployment
from tests.waiting import until_true

FRAMES = "document.querySelector('video').getVideoPlaybackQuality().totalVideoFrames"
TIME = "document.querySelector('video').currentTime"


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_numbered_video(tmp_path_factory.mktemp("clip") / "a clip.mp4")


def until_ready(deployment: Deployment, count: int) -> dict[str, object]:
    """Wait until the newest video has so many playable versions; return it."""

    def found() -> dict[str, object] | None:
        items = deployment.get("videos")["items"]
        detail = deployment.get(f"videos/{items[0]['id']}") if items else None
        playable = [each for each in detail["versions"] if each["plays"]] if detail else []
        finished = detail is not None and detail["latest"] == detail["current"] == detail["published"]
        return detail if finished and len(playable) == count else None

    return dict(until_true(found, f"{count} versions"))


def test_a_video_is_uploaded_played_and_rolled_back(signed_in: Page, deployment: Deployment, clip: Path) -> None:
    open_page(signed_in, deployment, "videos")
    signed_in.get_by_role("button", name="New video").click()
    dialog = signed_in.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(clip)
    dialog.get_by_role("button", name="Upload 1 file").click()
    video = until_ready(deployment, 1)
    card = signed_in.locator(f"[data-video='{video['id']}']")
    expect(card).to_contain_text("a clip")
    picture = card.locator("img")
    until_true(lambda: picture.evaluate("image => image.naturalWidth") > 0, "the poster")
    card.get_by_role("link").first.click()
    signed_in.locator("video").wait_for()
    signed_in.evaluate("document.querySelector('video').muted = true")
    signed_in.evaluate("document.querySelector('video').play()")
    until_true(lambda: signed_in.evaluate(FRAMES) > 30 and signed_in.evaluate(TIME) > 0.5, "frames")
    assert signed_in.evaluate("document.querySelector('video').error") is None

    signed_in.get_by_role("button", name="Retranscode").click()
    signed_in.get_by_role("dialog").locator("button[type=submit]").click()
    second = until_ready(deployment, 2)
    assert second["current"] != video["current"]
    signed_in.get_by_role("button", name="More actions").click()
    signed_in.get_by_text("Roll back to the previous version").click()
    agree_any(signed_in)
    until_true(lambda: deployment.get(f"videos/{video['id']}")["current"] == video["current"], "the rollback")
    assert deployment.get(f"videos/{video['id']}")["pinned"] == video["current"]

    signed_in.get_by_role("button", name="More actions").click()
    signed_in.get_by_text("Delete the video").click()
    agree_any(signed_in)
    signed_in.get_by_role("button", name="Undo").click()
    until_true(lambda: deployment.get(f"videos/{video['id']}")["deleted_at"] is None, "the undo")


def agree_any(page: Page) -> None:
    """Answer the question of a dialog with its verb."""
    dialog = page.get_by_role("dialog")
    dialog.locator("button[type=submit]").click()
    dialog.wait_for(state="detached")
