from typing import Any

from reelstate.core.machine import JobStatus
from reelstate.library.videos import Videos
from tests.api.video_server import VIDEOS, WEB, VideoLibrary
from tests.conformance.scenarios import finish
from tests.engines import a_worker

CHANGES: list[tuple[str, str, Any]] = [
    ("POST", "/retranscode", {}),
    ("POST", "/pin", {"job": 1}),
    ("POST", "/unpin", {}),
    ("POST", "/rollback", {}),
    ("DELETE", "", None),
]
LOOKS: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("POST", "/playback", {}),
    ("GET", "/files/videos/{id}/master.m3u8", None),
]
WRONG: list[Any] = [
    {},
    {"source": WEB, "upload": "a" * 32},
    {"source": WEB, "spec": {"source": "/etc/passwd"}},
    {"source": "video.mov"},
    {"source": "gopher://example.com/video.mov"},
    {"source": WEB, "profile": "no such"},
    {"source": WEB, "profile": {"name": "x", "rungs": []}},
    {"source": WEB, "priority": 11},
    {"source": WEB, "title": "t" * 1001},
    {"source": WEB, "captions": "perhaps"},
]


async def test_a_video_is_created_listed_and_shown_to_its_user_only(library: VideoLibrary) -> None:
    answer = await library.api.ask("ada", "POST", VIDEOS, json={"source": WEB, "title": "Holiday", "priority": "high"})
    made = answer.json()
    assert (answer.status_code, answer.headers["location"], made["verdict"]) == (201, f"{VIDEOS}/{made['id']}", "ok")
    shown = await library.show(made["id"])
    assert (shown["title"], shown["source"], shown["status"], shown["user_id"]) == ("Holiday", WEB, "pending", "ada")
    assert [(each["job"], each["priority"]) for each in shown["versions"]] == [(made["job"], 8)]
    for role, expected in (("ada", [made["id"]]), ("bob", []), ("admin", [made["id"]])):
        listed = (await library.api.ask(role, "GET", VIDEOS)).json()
        assert [each["id"] for each in listed["items"]] == expected


async def test_videos_come_in_pages_and_by_status(library: VideoLibrary) -> None:
    made = [(await library.make())[0] for _ in range(3)]
    await library.complete()
    made.append((await library.make())[0])
    first = await library.api.ask("ada", "GET", VIDEOS, params={"limit": 3})
    assert [each["id"] for each in first.json()["items"]] == made[:0:-1]
    rest = await library.api.ask("ada", "GET", VIDEOS, params={"limit": 3, "after": first.json()["after"]})
    assert [each["id"] for each in rest.json()["items"]] == [made[0]]
    ready = await library.api.ask("ada", "GET", VIDEOS, params={"status": "ready"})
    assert [each["id"] for each in ready.json()["items"]] == made[2::-1]
    assert (await library.api.ask("ada", "GET", VIDEOS, params={"user_id": "bob"})).status_code == 403


async def test_a_degraded_version_of_a_video_shows_its_reason(library: VideoLibrary) -> None:
    video_id, _ = await library.make()
    await library.complete()
    await library.remake(video_id)
    worker = await a_worker(library.api.engine)
    await finish(library.api.engine, worker, {"publish": {"master": "m.m3u8", "degraded": ["1080p: no encoder"]}})
    versions = (await library.show(video_id))["versions"]
    assert [(version["status"], version["degraded"]) for version in versions] == [
        ("completed", ["1080p: no encoder"]),
        ("completed", None),
    ]


async def test_a_repeated_request_with_an_idempotency_key_creates_one_video(library: VideoLibrary) -> None:
    async def ask(**body: Any) -> Any:
        headers = {"Idempotency-Key": "video-1"}
        return await library.api.ask("ada", "POST", VIDEOS, json={"source": WEB, **body}, headers=headers)

    first, again, other = await ask(), await ask(), await ask(title="another")
    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 422)
    assert again.json() == {**first.json(), "verdict": "repeated"}


async def test_an_invalid_video_is_refused_and_nothing_is_created(library: VideoLibrary) -> None:
    for body in WRONG:
        answer = await library.api.ask("admin", "POST", VIDEOS, json=body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert (await Videos(library.api.engine).list(deleted=True)).items == []


async def test_a_video_of_another_user_is_not_found(library: VideoLibrary) -> None:
    video_id, _ = await library.make("ada")
    await library.complete()
    await library.remake(video_id)
    before = await Videos(library.api.engine).get(video_id)
    for method, path, body in [*CHANGES, *LOOKS]:
        answer = await library.api.ask("bob", method, f"{VIDEOS}/{video_id}{path.format(id=video_id)}", json=body)
        assert (answer.status_code, answer.json()["type"]) == (404, "urn:reelstate:error:not-found"), path
        nowhere = await library.api.ask("bob", method, f"{VIDEOS}/1{path.format(id=1)}", json=body)
        assert nowhere.json()["detail"] == answer.json()["detail"].replace(str(video_id), "1")
    assert await Videos(library.api.engine).get(video_id) == before


async def test_a_key_that_only_reads_changes_nothing(library: VideoLibrary) -> None:
    video_id, _ = await library.make("ada")
    for method, path, body in CHANGES:
        assert (await library.api.ask("reader", method, f"{VIDEOS}/{video_id}{path}", json=body)).status_code == 403, (
            path
        )
    assert (await library.api.ask("reader", "POST", VIDEOS, json={"source": WEB})).status_code == 403
    assert (await library.api.ask("reader", "GET", f"{VIDEOS}/{video_id}")).status_code == 200
    assert (await library.api.ask("writer", "GET", f"{VIDEOS}/{video_id}")).status_code == 403


async def test_a_further_version_reuses_the_others_qualities_and_belongs_to_the_videos_user(
    library: VideoLibrary,
) -> None:
    video_id, first = await library.make("ada", captions="drop")
    await library.complete()
    job_id = await library.remake(video_id, "admin", qualities=["720p"], captions="keep")
    job = (await library.api.engine.job(job_id)).job
    assert (job.user_id, job.spec["qualities"], job.spec["reuse_from"]) == ("ada", ["720p"], first)
    assert job.spec["captions"] == "keep"
    wrong = await library.api.ask("ada", "POST", f"{VIDEOS}/{video_id}/retranscode", json={"qualities": ["9000p"]})
    assert wrong.status_code == 422
    assert (await library.show(video_id))["status"] == "ready"


async def test_versions_are_changed_with_a_current_etag_and_not_with_an_outdated_one(library: VideoLibrary) -> None:
    video_id, first = await library.make()
    await library.complete()
    second = await library.remake(video_id)
    await library.complete()
    etag = (await library.api.ask("ada", "GET", f"{VIDEOS}/{video_id}")).headers["etag"]
    back = await library.api.ask(
        "ada", "POST", f"{VIDEOS}/{video_id}/rollback", json={"reason": "green faces"}, headers={"If-Match": etag}
    )
    assert back.json() == {"id": video_id, "job": first, "verdict": "ok"}
    shown = await library.show(video_id)
    assert (shown["pinned"], shown["current"], shown["reason"], shown["actor"]) == (
        first, first, "green faces", "user:ada",
    )  # fmt: skip
    for method, path, body in CHANGES[1:]:
        late = await library.api.ask("ada", method, f"{VIDEOS}/{video_id}{path}", json=body, headers={"If-Match": etag})
        assert late.status_code == 412, (path, late.text)
    assert await library.show(video_id) == shown
    forth = await library.api.ask("ada", "POST", f"{VIDEOS}/{video_id}/unpin")
    assert forth.json() == {"id": video_id, "job": second, "verdict": "ok"}
    pinned = await library.api.ask("ada", "POST", f"{VIDEOS}/{video_id}/pin", json={"job": first})
    again = await library.api.ask("ada", "POST", f"{VIDEOS}/{video_id}/rollback", json={"to": first})
    assert (pinned.json()["verdict"], again.json()["verdict"]) == ("ok", "repeated")


async def test_a_deleted_video_is_gone_and_its_jobs_are_cancelled(library: VideoLibrary) -> None:
    video_id, job_id = await library.make()
    for _ in range(2):
        assert (await library.api.ask("ada", "DELETE", f"{VIDEOS}/{video_id}?reason=rights")).status_code == 204
    assert (await library.api.engine.job(job_id)).job.status is JobStatus.CANCELLED
    assert (await library.api.ask("ada", "GET", VIDEOS)).json()["items"] == []
    kept = (await library.api.ask("ada", "GET", VIDEOS, params={"deleted": True})).json()["items"]
    assert [(each["id"], each["reason"]) for each in kept] == [(video_id, "rights")]
    again = await library.api.ask("ada", "POST", f"{VIDEOS}/{video_id}/retranscode")
    assert (again.status_code, again.json()["field"]) == (422, "video")


async def test_possible_secrets_in_a_source_address_are_not_shown(library: VideoLibrary) -> None:
    video_id, _ = await library.make(source="https://ada:canary@example.com/video.mov?signature=canary")
    listed = await library.api.ask("ada", "GET", VIDEOS)
    shown = await library.api.ask("ada", "GET", f"{VIDEOS}/{video_id}")
    assert "canary" not in listed.text + shown.text
    assert shown.json()["source"] == "https://example.com/video.mov?…"


async def test_a_video_in_progress_is_viewable_once_its_playlist_is_there(library: VideoLibrary) -> None:
    video_id, _ = await library.make()
    assert (await library.show(video_id))["viewable"] is False
    worker = await a_worker(library.api.engine)
    await library.api.engine.claim(worker, 1)
    shown = await library.show(video_id)
    assert (shown["status"], shown["viewable"]) == ("processing", False)
    await library.storage.replace_bytes(f"videos/{video_id}/master.m3u8", b"#EXTM3U\n")
    assert (await library.show(video_id))["viewable"] is True
