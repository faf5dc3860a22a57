"""Settings: read from the environment, checked, listed, and written down."""

from dataclasses import fields
from pathlib import Path

import pytest

from reelstate.config import (
    DEFAULTS,
    Settings,
    effective_settings,
    from_environment,
    mask_url,
    unknown_variables,
    variable,
)
from reelstate.core.errors import InvalidSetting

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "configuration.md").read_text()
OLD = (
    *("WORKER_CLAIM_DURATION_MINUTES", "WORKER_HEARTBEAT_INTERVAL", "WORKER_OFFLINE_THRESHOLD_MINUTES"),
    *("STALE_JOB_CHECK_INTERVAL", "JOB_STALE_TIMEOUT", "MAX_RETRY_ATTEMPTS", "KEEP_COMPLETED_QUALITIES"),
    *("CLEANUP_PARTIAL_ON_FAILURE", "REDIS_URL", "JOB_QUEUE_MODE", "REDIS_POOL_SIZE", "ALERT_WEBHOOK_URL"),
    *("ALERT_RATE_LIMIT_SECONDS", "ALERT_WEBHOOK_TIMEOUT"),
)


def test_without_settings_the_defaults_apply() -> None:
    assert from_environment({}) == DEFAULTS == Settings()
    assert from_environment({"REEL_HEARTBEAT": "", "OTHER": "x"}) == DEFAULTS


def test_given_values_override_the_environment() -> None:
    environment = {"REEL_HEARTBEAT": "2.5", "REEL_WORKER_CONCURRENCY": "9", "REEL_DATABASE_URL": "sqlite:///a.db"}
    settings = from_environment(environment, database_url="sqlite:///b.db", worker_name=None)
    assert (settings.heartbeat, settings.worker_concurrency) == (2.5, 9)
    assert (settings.database_url, settings.worker_name) == ("sqlite:///b.db", "")


@pytest.mark.parametrize(
    "name, value, shown, expected",
    [
        ("REEL_HEARTBEAT", "often", "'often'", "a number"),
        ("REEL_HEARTBEAT", "0", "0.0", "at least 0.05"),
        ("REEL_HEARTBEAT", "inf", "inf", "at least 0.05"),
        ("REEL_HEARTBEAT", "nan", "nan", "at least 0.05"),
        ("REEL_WORKER_CONCURRENCY", "1.5", "'1.5'", "a whole number"),
        ("REEL_WORKER_CONCURRENCY", "0", "0", "at least 1"),
        ("REEL_DISPATCH", "redsi", "'redsi'", "database, poll, redis or hybrid"),
        ("REEL_LOG_LEVEL", "loud", "'loud'", "debug, info, warning or error"),
    ],
)
def test_an_invalid_value_is_refused_with_its_variable(name: str, value: str, shown: str, expected: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        from_environment({name: value})
    assert refused.value.field == name
    assert refused.value.message == f"invalid value {shown} for {name} (expected {expected})"
    default = getattr(DEFAULTS, name.removeprefix("REEL_").lower())
    assert refused.value.hint == f"the default is {default}"


@pytest.mark.parametrize(
    "environment, message",
    [
        ("STALE_AFTER=3 HEARTBEAT=2", "3.0 for REEL_STALE_AFTER (expected at least twice REEL_HEARTBEAT, which is 2)"),
        ("HEARTBEAT=60", "45.0 for REEL_STALE_AFTER (expected at least twice REEL_HEARTBEAT, which is 60)"),
        ("PRUNE_AFTER=44", "44.0 for REEL_PRUNE_AFTER (expected at least REEL_STALE_AFTER, which is 45)"),
        ("SERVER_KEY=reel_a", "'' for REEL_SERVER_URL (expected the address of the server that the key is for)"),
        ("SERVER_KEY_FILE=a", "'' for REEL_SERVER_URL (expected the address of the server that the key is for)"),
        (
            "SERVER_URL=https://x SERVER_KEY=reel_a SERVER_KEY_FILE=a",
            "'a' for REEL_SERVER_KEY_FILE (expected no REEL_SERVER_KEY beside it)",
        ),
        (
            "REMOTE_DOWNLOADS=signed STORAGE_URL=media",
            "'signed' for REEL_REMOTE_DOWNLOADS (expected server, because REEL_STORAGE_URL is not a bucket)",
        ),
        ("DISPATCH=redis", "'' for REEL_REDIS_URL (expected redis://… or rediss://… with REEL_DISPATCH=redis)"),
        ("DISPATCH=hybrid", "'' for REEL_REDIS_URL (expected redis://… or rediss://… with REEL_DISPATCH=hybrid)"),
        ("REDIS_KEY=a", "'' for REEL_REDIS_CERT (expected the certificate of REEL_REDIS_KEY)"),
        (
            "REDIS_CA=a REDIS_URL=redis://u:secret@h/0",
            "'redis://u:***@h/0' for REEL_REDIS_URL (expected rediss://… beside REEL_REDIS_CA or REEL_REDIS_CERT)",
        ),
        ("UPLOAD_UNUSED=49", "49 for REEL_UPLOAD_UNUSED (expected at least REEL_UPLOAD_OPEN, which is 50)"),
        ("TLS_KEY=a", "'' for REEL_TLS_CERT (expected the certificate of REEL_TLS_KEY)"),
    ],
)
def test_two_settings_that_contradict_each_other_are_refused(environment: str, message: str) -> None:
    given = dict(each.split("=", 1) for each in environment.split())
    with pytest.raises(InvalidSetting) as refused:
        from_environment({f"REEL_{name}": value for name, value in given.items()})
    assert refused.value.message == f"invalid value {message}"
    assert refused.value.hint


@pytest.mark.parametrize(
    "environment",
    [
        "STALE_AFTER=4 HEARTBEAT=2",
        "SERVER_URL=https://x",
        "SERVER_URL=https://x SERVER_KEY_FILE=a",
        "REMOTE_DOWNLOADS=signed STORAGE_URL=s3://bucket/a",
        "DISPATCH=redis REDIS_URL=redis://h/0",
        "REDIS_CA=a REDIS_CERT=b REDIS_KEY=c REDIS_URL=rediss://h/0",
        "TLS_CERT=both.pem",
    ],
)
def test_consistent_settings_are_accepted(environment: str) -> None:
    given = dict(each.split("=", 1) for each in environment.split())
    from_environment({f"REEL_{name}": value for name, value in given.items()})


def test_the_limits_follow_the_settings() -> None:
    limits = from_environment({"REEL_LIMIT_SPEC": "10", "REEL_LIMIT_ERROR": "20"}).limits
    assert (limits.spec, limits.error, limits.checkpoint) == (10, 20, DEFAULTS.limits.checkpoint)


def test_every_setting_is_listed_with_its_source() -> None:
    listed = {setting.name: setting for setting in effective_settings({"REEL_POLL": "3"})}
    assert list(listed) == [field.name for field in fields(Settings)]
    assert (listed["poll"].value, listed["poll"].default, listed["poll"].source) == (3.0, 1.0, "environment")
    assert {setting.source for name, setting in listed.items() if name != "poll"} == {"default"}
    assert all(setting.meaning.endswith((".", "…")) for setting in listed.values())


@pytest.mark.parametrize(
    "address, shown",
    [
        ("postgresql://u:p@h/x", "postgresql://u:***@h/x"),
        ("postgresql://u:p@ss:w@h:5432/x", "postgresql://u:***@h:5432/x"),
        ("postgresql://u@h/x?password=p&sslmode=require", "postgresql://u@h/x?password=***&sslmode=require"),
        ("postgresql://u@h/x", "postgresql://u@h/x"),
        ("sqlite:////a:b@c/jobs.db", "sqlite:////a:b@c/jobs.db"),
    ],
)
def test_passwords_are_not_shown(address: str, shown: str) -> None:
    assert mask_url(address) == shown


def test_unknown_variables_are_found() -> None:
    environment = {"REEL_POL": "1", "REEL_POLL": "1", "POLL": "1", "_REEL_COMPLETE": "x"}
    assert unknown_variables(environment) == ["REEL_POL"]


def test_the_page_names_every_setting_and_every_old_one() -> None:
    missing = [field.name for field in fields(Settings) if f"`{variable(field.name)}`" not in PAGE]
    assert missing == []
    assert [name for name in OLD if f"`VLOG_{name}`" not in PAGE] == []
    assert "600 s" in PAGE
