"""Keys: what they allow, when they end, and where none may be stored or logged."""

import asyncio
import logging
import re
import sqlite3
import subprocess
import time
import zlib
from contextlib import closing
from dataclasses import replace

import pytest

from reelstate.core.errors import InvalidRequest, KeyRefused, NotFound
from reelstate.services.keys import CACHE_SECONDS, Key, KeyKind, Keys, Scope
from tests.api.api_server import Server
from tests.engines import FakeClock, engine_at
from tests.postgres import PostgresServer

JOBS = "/api/v1/jobs"
ACTOR = "operator:test"


async def test_a_revoked_key_stops_within_five_seconds(api: Server) -> None:
    """Another process revokes the key: it stays in the cache of the server, here for a second."""
    api.context.keys._cache_seconds = 1.0
    assert (await api.ask("ada", "GET", JOBS)).status_code == 200
    elsewhere = Keys(api.engine.store)
    assert await elsewhere.revoke(api.keys["ada"].key.id, actor=ACTOR)
    began = asked = time.monotonic()
    while (answer := await api.ask("ada", "GET", JOBS)).status_code == 200:
        assert asked - began < 1.0
        await asyncio.sleep(0.1)  # the cache expires by its clock
        asked = time.monotonic()
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert CACHE_SECONDS < 5
    assert (await api.ask("bob", "GET", JOBS)).status_code == 200


async def test_an_invalid_key_is_refused(api: Server) -> None:
    text = api.keys["ada"].text
    slip = text[:-1] + ("1" if text.endswith("0") else "0")
    unknown = _with_checksum("0" * 12, "ab" * 32)
    wrong = _with_checksum(api.keys["ada"].key.id, "ab" * 32)
    for sent in ("", "Bearer", "Bearer x", f"Bearer {slip}", f"Bearer {unknown}", f"Bearer {wrong}", f"Basic {text}"):
        answer = await api.ask("nobody", "GET", JOBS, headers={"Authorization": sent})
        assert answer.status_code == 401, sent
        assert answer.json()["type"] == "urn:reelstate:error:key-refused"
        assert text not in answer.text
    assert "copied" in (await api.ask("nobody", "GET", JOBS, headers={"Authorization": f"Bearer {slip}"})).text


async def test_neither_the_database_nor_the_log_holds_a_usable_key(
    api: Server, database_url: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    session = await api.ask("nobody", "POST", "/signin", json={"key": api.keys["ada"].text})
    code = await api.context.keys.create_code(api.keys["admin"].key)
    assert (await api.ask("nobody", "GET", "/signin", params={"code": "wrong" + code})).status_code == 401
    for role in api.keys:
        await api.ask(role, "GET", f"{JOBS}?after={api.keys[role].text}")
        await api.ask(role, "POST", "/signin", json={"key": api.keys[role].text[:-1]})
    secrets = [key.text for key in api.keys.values()] + [code, session.cookies["reelstate_session"]]
    await api.engine.job(await api.submit("ada"))
    dump = await asyncio.to_thread(_dump, database_url, request)
    logged = "\n".join(line.getMessage() for line in caplog.records if not line.name.startswith("http"))
    assert api.keys["ada"].key.id in dump
    assert "GET /signin 401" in logged
    for text in secrets:
        secret = text.split("_")[2]
        assert secret[:64] not in dump
        assert secret[:64] not in logged
    found = re.findall(r"reel_[0-9a-f]{12}_[0-9a-f]+", dump + logged)
    assert found == []


async def test_a_rotated_key_works_beside_the_new_one_until_the_overlap_ends(database_url: str) -> None:
    clock = FakeClock()
    async with engine_at(database_url, clock) as engine:
        keys = Keys(engine.store, cache_seconds=0)
        old = await keys.create("ada", scopes=[Scope.READ], user_id="ada", actor=ACTOR)
        new = await keys.rotate(old.key.id, overlap=60, lifetime=3600, actor=ACTOR)
        assert (new.key.scopes, new.key.user_id) == (old.key.scopes, "ada")
        for text in (old.text, new.text):
            assert (await keys.authenticate(text)).user_id == "ada"
        clock.advance(61)
        with pytest.raises(KeyRefused):
            await keys.authenticate(old.text)
        await keys.authenticate(new.text)
        clock.advance(3600)
        with pytest.raises(KeyRefused):
            await keys.authenticate(new.text)
        with pytest.raises(NotFound):
            await keys.rotate(old.key.id, actor=ACTOR)


async def test_sessions_and_codes_end_with_their_key(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        keys = Keys(engine.store, cache_seconds=0)
        made = await keys.create("ada", scopes=[Scope.READ], user_id="ada", actor=ACTOR)
        code = await keys.create_code(made.key)
        session = await keys.redeem_code(code)
        with pytest.raises(KeyRefused):
            await keys.redeem_code(code)
        assert (await keys.authenticate(session.text, KeyKind.SESSION)).user_id == "ada"
        with pytest.raises(KeyRefused):
            await keys.authenticate(session.text)
        await keys.revoke(made.key.id, actor=ACTOR)
        with pytest.raises(KeyRefused):
            await keys.authenticate(session.text, KeyKind.SESSION)
        assert [key.id for key in await keys.all()] == [made.key.id]


async def test_one_of_many_exchanges_of_a_code_gets_a_session(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        keys = Keys(engine.store)
        code = await keys.create_code((await keys.create("ada", scopes=[Scope.ADMIN], actor=ACTOR)).key)
        answers = await asyncio.gather(*(keys.redeem_code(code) for _ in range(8)), return_exceptions=True)
        assert sum(not isinstance(answer, BaseException) for answer in answers) == 1


async def test_a_key_works_only_with_the_pepper_it_was_created_with(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        made = await Keys(engine.store, pepper="a").create("ada", scopes=[Scope.ADMIN], actor=ACTOR)
        assert (await Keys(engine.store, pepper="a").authenticate(made.text)).name == "ada"
        with pytest.raises(KeyRefused):
            await Keys(engine.store, pepper="b").authenticate(made.text)


async def test_a_key_with_invalid_terms_is_not_created(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        keys = Keys(engine.store)
        for wrong in (
            {"name": " ", "scopes": ["admin"]},
            {"name": "x", "scopes": []},
            {"name": "x", "scopes": ["root"]},
            {"name": "x", "scopes": ["jobs:read"]},
            {"name": "x", "scopes": ["admin"], "lifetime": -1.0},
            {"name": "x\0", "scopes": ["admin"]},
        ):
            with pytest.raises(InvalidRequest):
                await keys.create(actor=ACTOR, **wrong)
        assert await keys.all() == []


async def test_sessions_that_ended_long_ago_are_not_kept(database_url: str) -> None:
    clock = FakeClock()
    async with engine_at(database_url, clock) as engine:
        keys = Keys(engine.store, cache_seconds=0)
        made = await keys.create("ada", scopes=[Scope.ADMIN], actor=ACTOR)
        session = await keys.open_session(made.key)
        await keys.authenticate(session.text, KeyKind.SESSION)
        days = 2 * 86_400
        clock.advance(days)
        await keys.open_session(made.key)
        clock.advance(-days)
        with pytest.raises(KeyRefused):
            await keys.authenticate(session.text, KeyKind.SESSION)


async def test_the_use_of_a_key_is_recorded_about_once_a_minute(database_url: str) -> None:
    clock = FakeClock()
    async with engine_at(database_url, clock) as engine:
        keys = Keys(engine.store, cache_seconds=0)
        made = await keys.create("ada", scopes=[Scope.ADMIN], actor=ACTOR)

        async def used() -> Key:
            await keys.authenticate(made.text)
            (found,) = await keys.all()
            return found

        first = await used()
        assert first.used_at == clock.now
        clock.advance(30)
        assert await used() == first
        clock.advance(31)
        assert await used() == replace(first, used_at=clock.now)


async def test_a_wrong_secret_is_no_use_of_a_key(database_url: str) -> None:
    async with engine_at(database_url) as engine:
        keys = Keys(engine.store, cache_seconds=0)
        made = await keys.create("ada", scopes=[Scope.ADMIN], actor=ACTOR)
        with pytest.raises(KeyRefused):
            await keys.authenticate(_with_checksum(made.key.id, "ab" * 32))
        (found,) = await keys.all()
        assert found.used_at is None


@pytest.mark.prove
async def test_an_unknown_key_takes_as_long_as_a_wrong_one(database_url: str) -> None:
    """The medians of many alternating requests differ by less than a tenth."""
    async with engine_at(database_url) as engine:
        keys = Keys(engine.store, cache_seconds=0)
        made = await keys.create("ada", scopes=[Scope.ADMIN], actor=ACTOR)
        texts = [_with_checksum(made.key.id, "ab" * 32), _with_checksum("0" * 12, "ab" * 32)]
        taken: list[list[float]] = [[], []]
        for number in range(10_000):
            place = number % 2
            began = time.perf_counter()
            with pytest.raises(KeyRefused):
                await keys.authenticate(texts[place])
            taken[place].append(time.perf_counter() - began)
        wrong, unknown = (sorted(each)[len(each) // 2] for each in taken)
        assert abs(wrong - unknown) < 0.1 * max(wrong, unknown)


def _dump(url: str, request: pytest.FixtureRequest) -> str:
    """Return the dump of the database."""
    if url.startswith("sqlite:"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            return "\n".join(connection.iterdump())
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return subprocess.run([server.bin / "pg_dump", url], check=True, capture_output=True, text=True).stdout


def _with_checksum(key_id: str, secret: str) -> str:
    return f"reel_{key_id}_{secret}{zlib.crc32(f'{key_id}_{secret}'.encode()):08x}"


KEYS = "/api/v1/keys"


async def test_an_admin_creates_lists_rotates_and_revokes_keys_over_http(api: Server) -> None:
    body = {"name": "eve-laptop", "user_id": "eve", "scopes": ["jobs:read"], "lifetime": 3600}
    made = await api.ask("admin", "POST", KEYS, json=body)
    first = made.json()
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    assert (first["scopes"], first["user_id"], first["actor"]) == (["jobs:read"], "eve", "operator:admin")

    async def seen_with(text: str) -> int:
        return (await api.ask("nobody", "GET", JOBS, headers={"Authorization": f"Bearer {text}"})).status_code

    assert await seen_with(first["key"]) == 200
    turned = await api.ask("admin", "POST", f"{KEYS}/{first['id']}/rotate", json={"overlap": 0})
    second = turned.json()
    assert (turned.status_code, second["scopes"], second["user_id"]) == (201, ["jobs:read"], "eve")
    assert (await seen_with(first["key"]), await seen_with(second["key"])) == (401, 200)
    assert (await api.ask("admin", "POST", f"{KEYS}/{first['id']}/rotate")).status_code == 404, "it is over"
    revoke = f"{KEYS}/{second['id']}/revoke"
    assert (await api.ask("admin", "POST", revoke)).json() == {"id": second["id"], "revoked": True}
    assert (await api.ask("admin", "POST", revoke)).json() == {"id": second["id"], "revoked": False}
    assert await seen_with(second["key"]) == 401
    listed = await api.ask("admin", "GET", KEYS)
    assert {key["id"] for key in listed.json()} >= {first["id"], second["id"]}
    assert first["key"] not in listed.text
    assert "key" not in listed.json()[0]
    assert [key.id for key in await Keys(api.engine.store).all()] == [key["id"] for key in listed.json()]


async def test_keys_that_could_not_be_used_are_not_created_over_http(api: Server) -> None:
    wrong: dict[str, dict[str, object]] = {
        "scopes": {"name": "x", "scopes": []},
        "scopes.0": {"name": "x", "scopes": ["root"]},
        "user_id": {"name": "x", "scopes": ["jobs:read"]},
        "name": {"name": "two words", "scopes": ["worker"]},
        "lifetime": {"name": "x", "scopes": ["admin"], "lifetime": -1},
        "digest": {"name": "x", "scopes": ["admin"], "digest": "00"},
    }
    before = await api.context.keys.all()
    for field, body in wrong.items():
        answer = await api.ask("admin", "POST", KEYS, json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field)
    assert [key.id for key in await api.context.keys.all()] == [key.id for key in before]


async def test_no_key_creates_or_becomes_a_key_with_more_rights(api: Server) -> None:
    admin = api.keys["admin"].key.id
    before = [(key.id, key.expires_at, key.revoked_at) for key in await api.context.keys.all()]
    for role in ("ada", "reader", "writer", "worker"):
        for path, body in (
            (KEYS, {"name": "x", "scopes": ["admin"]}),
            (KEYS, {"name": "x", "scopes": ["jobs:read"], "user_id": "ada"}),
            (f"{KEYS}/{admin}/rotate", {}),
            (f"{KEYS}/{api.keys[role].key.id}/rotate", {}),
            (f"{KEYS}/{admin}/revoke", None),
        ):
            assert (await api.ask(role, "POST", path, json=body)).status_code == 403, (role, path)
    assert [(key.id, key.expires_at, key.revoked_at) for key in await api.context.keys.all()] == before


async def test_an_admin_key_revoked_elsewhere_creates_no_key_while_it_is_cached(
    api: Server,
) -> None:
    assert (await api.ask("admin", "GET", KEYS)).status_code == 200
    await Keys(api.engine.store).revoke(api.keys["admin"].key.id, actor=ACTOR)
    for path in (KEYS, f"{KEYS}/{api.keys['ada'].key.id}/rotate"):
        answer = await api.ask("admin", "POST", path, json={"name": "x", "scopes": ["admin"]} if path == KEYS else {})
        assert answer.status_code == 401, path
