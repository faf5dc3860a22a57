"""Every setting, once: its name, default and meaning. The environment names each with the prefix `REEL_`.

The file is read by `reel config`, by the documentation and by whoever composes a process; nothing below the
composition root reads the environment.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reelstate.core.document import LIMITS, DocumentLimits
from reelstate.core.errors import InvalidSetting
from reelstate.core.pipeline import STALL_ACTIONS
from reelstate.stores.sqlite.address import database_url

PREFIX = "REEL_"
_USER_PASSWORD = re.compile(r"(://[^/?#:@]*:)[^/?#]*@")
_PASSWORD = re.compile(r"(password=)[^&\s]*", re.IGNORECASE)


def setting(
    default: Any, meaning: str, *, least: float | None = None, choices: tuple[str, ...] = (), secret: bool = False
) -> Any:
    """A field of the settings with what people must know of it."""
    metadata = {"meaning": meaning, "least": least, "choices": choices, "secret": secret}
    return dataclasses.field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a process of Reelstate behaves. Durations are seconds."""

    database_url: str = setting(
        "sqlite:///reelstate.db", "Where the store is: sqlite:///FILE, a plain path, or postgresql://…"
    )
    database_connections: int = setting(4, "Connections a process keeps to PostgreSQL.", least=1)
    database_timeout: float = setting(60.0, "How long a call waits for a database that is away.", least=0)
    migrate: str = setting(
        "default",
        "Who brings the schema up to date: auto (whoever opens the store), never (only `reel migrate`), or default:"
        " auto for SQLite and `reel up`, never for the other commands on PostgreSQL.",
        choices=("default", "auto", "never"),
    )
    app: str = setting("", "Where your pipelines are: module:name of one, or of a list of them.")

    worker_name: str = setting("", "The name people read; the host's name when empty.")
    worker_concurrency: int = setting(4, "Tasks that a worker runs at once.", least=1)
    worker_capabilities: str = setting(
        "", "What a worker can do beyond what it finds by itself: names separated by commas; -name takes one away."
    )
    worker_pipelines: str = setting(
        "", "The pipelines that a worker runs, built-in ones too: names separated by commas; all it has when empty."
    )
    worker_prefetch: int = setting(500, "Short tasks that a worker may hold ready beyond those it runs.", least=0)
    worker_grace: float = setting(30.0, "How long a worker that is told to stop lets its tasks finish.", least=0)
    worker_kill_after: float = setting(5.0, "How long a stopped handler may take to clean up.", least=0)
    heartbeat: float = setting(10.0, "How often a worker renews its leases.", least=0.05)
    poll: float = setting(1.0, "How often an idle worker looks for work when no bell rings.", least=0.01)
    gpu_grace: float = setting(
        60.0, "How long a fresh task is kept for an idle worker that has what it prefers.", least=0
    )
    wants_grace: float = setting(
        60.0, "How long a task waits for a worker that has what it wants, such as an optional encoder.", least=0
    )

    server_url: str = setting("", "The server of a remote worker, https://…; a worker of the house has none.")
    server_key: str = setting("", "The key that a remote worker shows to its server.", secret=True)
    server_key_file: str = setting("", "A file that holds this key, for whoever keeps secrets in files.")
    remote_file_limit: int = setting(64 * 1024**3, "Largest file that a remote worker may send, in bytes.", least=1)
    remote_body_limit: int = setting(
        4 * 1024**2, "Largest report or result that a remote worker may send as JSON, in bytes.", least=64 * 1024
    )
    instances_per_key: int = setting(
        100, "Live instances that a remote worker may have: all that register with keys of one name.", least=1
    )
    remote_downloads: str = setting(
        "server",
        "Files for remote workers come through the server, or (signed) by addresses that the bucket itself serves.",
        choices=("server", "signed"),
    )

    dispatch: str = setting(
        "database",
        "How workers hear of work: database (NOTIFY, or a bell file beside SQLite), poll, redis (which must be there at"
        " the start) or hybrid (redis, and the database while it is away).",
        choices=("database", "poll", "redis", "hybrid"),
    )
    redis_url: str = setting("", "Where Redis is: redis://…, or rediss://user:password@host:port/0 with TLS.")
    redis_prefix: str = setting("reelstate", "What all keys and channels begin with; one for each database.")
    redis_queue: str = setting(
        "sorted",
        "Hints in Redis: sorted (exact order) or streams (high, normal, low; consumer groups).",
        choices=("sorted", "streams"),
    )
    redis_pool: int = setting(10, "Connections a process keeps to Redis.", least=2)
    redis_timeout: float = setting(0.5, "How long an answer of Redis is waited for.", least=0.01)
    redis_reconcile: float = setting(
        30.0, "How often Redis is compared with the database, and how often a worker looks there itself.", least=0.1
    )
    redis_mirror: int = setting(10_000, "Ready tasks that Redis knows of; more wait in the database alone.", least=1)
    redis_ca: str = setting(
        "", "File of the authorities that may have signed Redis's certificate; when empty, the system's."
    )
    redis_cert: str = setting("", "File of the certificate that is shown to Redis.")
    redis_key: str = setting("", "File of the key of that certificate.")

    orchestrate_every: float = setting(1.0, "How often the keeper makes ready what is due.", least=0.01)
    sweep_every: float = setting(5.0, "How often the keeper takes back expired leases.", least=0.01)
    sweep_limit: int = setting(500, "Leases that one sweep takes back at most, so that no herd starts.", least=1)
    stale_after: float = setting(45.0, "Silence after which a worker counts as offline.", least=0.1)
    stall_after: float = setting(
        0.0,
        "Seconds after which a run that reports no progress counts as stalled, in stages that set no stall_after; 0 for"
        " never.",
        least=0,
    )
    stall_action: str = setting(
        "recover",
        "What is done about such a run: recover (end it and make its task ready again) or flag (mark its job, for an"
        " operator to decide).",
        choices=STALL_ACTIONS,
    )
    keeper_gap: float = setting(
        60.0, "A pause of all keepers longer than this, or than a third of a lease, is followed by a grace.", least=0
    )
    keeper_grace: float = setting(
        120.0, "How long after such a pause no lease is taken back: as long as the lease itself, at most this.", least=0
    )
    check_every: float = setting(300.0, "How often the keeper runs the quick invariants.", least=0.01)
    keep_states: float = setting(
        30 * 86_400.0, "How long states of finished jobs, and old versions of states, are kept.", least=1
    )
    prune_after: float = setting(7 * 86_400.0, "How long an offline worker instance stays listed.", least=1)

    storage_url: str = setting(
        "media", "Where sources and streams are kept: a folder, or file://, s3:// or gs:// with a prefix."
    )
    scratch: str = setting("", "Folder for the files of running tasks; the system's temporary folder when empty.")
    source_cache: int = setting(
        20 * 1024**3, "Bytes of sources that a worker keeps at hand when the storage is not a folder.", least=0
    )
    input_limit: int = setting(200 * 1024**3, "Largest source, in bytes.", least=1)
    input_roots: str = setting(
        "", "Folders from which sources may be taken, separated by colons; when empty, any that the worker can read."
    )
    input_hosts: str = setting(
        "", "Hosts on private addresses from which sources may be fetched, separated by commas; public ones always may."
    )
    input_buckets: str = setting(
        "",
        "Buckets, or prefixes of them, from which users may name sources over HTTP, separated by commas; only admins"
        " may name others.",
    )
    upload_folder: str = setting(
        "",
        "Folder for uploads under way, which several servers must share; when empty, in the folder of the storage, else"
        " in the scratch folder.",
    )
    upload_lifetime: float = setting(86_400.0, "How long an upload is kept after its last bytes came.", least=1)
    upload_open: int = setting(50, "Uploads that a user may have under way at once.", least=1)
    upload_unused: int = setting(
        1000, "Uploads that a user may have, under way or finished, that no video uses yet.", least=1
    )
    upload_quota: int = setting(
        500 * 1024**3, "Bytes that these uploads of a user may take up; what is not received yet is reserved.", least=1
    )
    ffmpeg: str = setting("", "The ffmpeg to use; when empty, the one on PATH, else the one of the wheel.")
    sandbox: str = setting(
        "auto",
        "Run ffmpeg and the probe behind bubblewrap, else Landlock: auto (where one works; required on remote workers"
        " and where some are registered), require or off.",
        choices=("auto", "require", "off"),
    )
    encode_threads: int = setting(
        0, "Threads of one encoder; 0 shares the machine's cores among the tasks that a worker runs.", least=0
    )
    keep_versions: float = setting(7 * 86_400.0, "How long a superseded version of a video is kept.", least=0)

    serve_host: str = setting("127.0.0.1", "The address that HTTP is served on.")
    serve_port: int = setting(8700, "The port that HTTP is served on; 0 takes a free one.", least=0)
    serve_grace: float = setting(10.0, "How long a server that is told to stop lets requests finish.", least=0)
    tls_cert: str = setting("", "File with the certificate to serve HTTPS with, and those that vouch for it.")
    tls_key: str = setting("", "File with the key of that certificate.")
    trusted_proxies: str = setting(
        "", "Addresses of proxies whose word on the caller's address is taken, separated by commas."
    )
    state_dir: str = setting(
        "",
        "Folder for the first admin key, the server's address and sign-in codes, for its user alone; when empty,"
        " reelstate in $XDG_STATE_HOME, else ~/.local/state/reelstate.",
    )
    key_file: str = setting(
        "", "File that the first admin key is written to; when empty, one in the state directory (`reel keys path`)."
    )
    key_pepper: str = setting(
        "", "Mixed into what is stored of keys; keys are good only where it is the same.", secret=True
    )
    rate_per_key: float = setting(200.0, "Requests a second that a key may make, twice as many at once.", least=0.1)
    rate_per_address: float = setting(400.0, "The same for an address, whatever its keys.", least=0.1)
    connections_per_address: int = setting(
        500, "Connections that a server accepts from one address; those of trusted proxies are not counted.", least=1
    )
    connections_per_server: int = setting(
        10_000, "Connections that a server accepts in all; fewer if the limit of open files is lower.", least=1
    )
    limit_body: int = setting(1024 * 1024, "Largest JSON body of a request, in bytes.", least=1024)
    read_timeout: float = setting(
        2.0,
        "How long a read over HTTP waits for a database that is away; a change waits database_timeout.",
        least=0,
    )
    body_timeout: float = setting(20.0, "How long the body of a request may take to arrive.", least=0.1)

    stream_heartbeat: float = setting(
        15.0, "How often a live stream on which nothing happens says something: how far it is.", least=0.1
    )
    stream_retry: float = setting(2.0, "How long a client of a live stream waits before it connects again.", least=0)
    stream_timeout: float = setting(
        30.0, "How long a live stream waits for a client that takes nothing before it is cut.", least=0.1
    )
    streams_per_key: int = setting(
        10, "Live streams that a key, with its sessions, may have open at a server.", least=1
    )
    streams_per_server: int = setting(2_000, "Live streams that a server may have open.", least=1)

    log_level: str = setting("info", "What is logged.", choices=("debug", "info", "warning", "error"))

    limit_spec: int = setting(LIMITS.spec, "Largest spec of a job, in bytes.", least=1)
    limit_checkpoint: int = setting(LIMITS.checkpoint, "Largest checkpoint, in bytes.", least=1)
    limit_result: int = setting(LIMITS.result, "Largest result of a task, in bytes.", least=1)
    limit_error: int = setting(LIMITS.error, "Longest error text, in characters.", least=1)

    @property
    def limits(self) -> DocumentLimits:
        return dataclasses.replace(
            LIMITS,
            spec=self.limit_spec,
            checkpoint=self.limit_checkpoint,
            result=self.limit_result,
            error=self.limit_error,
        )


DEFAULTS = Settings()


def from_environment(environment: Mapping[str, str], **given: Any) -> Settings:
    """Settings from `REEL_…` variables; what is given (and not None) wins over them.

    Raises `InvalidSetting` for a value that can't be, and for two that contradict each other.
    """
    read: dict[str, Any] = {}
    for field in dataclasses.fields(Settings):
        if given.get(field.name) is not None:
            read[field.name] = _checked(field, given[field.name])
        elif text := environment.get(variable(field.name)):
            read[field.name] = _checked(field, _parsed(field, text))
    settings = Settings(**read)
    _check_pairs(settings)
    return dataclasses.replace(settings, database_url=database_url(settings.database_url))


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def _parsed(field: dataclasses.Field[Any], text: str) -> Any:
    kind: Callable[[str], Any] = type(field.default)
    try:
        return kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise InvalidSetting(variable(field.name), text, expected, hint=_default(field)) from None


def _checked(field: dataclasses.Field[Any], value: Any) -> Any:
    least, choices = field.metadata["least"], field.metadata["choices"]
    if choices and value not in choices:
        expected = f"{', '.join(choices[:-1])} or {choices[-1]}"
        raise InvalidSetting(variable(field.name), value, expected, hint=_default(field))
    if least is not None and not (least <= value < math.inf):
        raise InvalidSetting(variable(field.name), value, f"at least {least}", hint=_default(field))
    return value


def _default(field: dataclasses.Field[Any]) -> str:
    return f"the default is {field.default}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """What a setting must be beside others."""

    name: str
    holds: Callable[[Settings], bool]
    expected: str
    """With the names of other settings in braces where their values belong."""
    hint: str


_PAIRS = (
    _Pair(
        "stale_after",
        lambda chosen: chosen.stale_after >= 2 * chosen.heartbeat,
        "at least twice REEL_HEARTBEAT, which is {heartbeat:g}",
        "raise it, or lower REEL_HEARTBEAT: in between two heartbeats a worker would be taken for offline",
    ),
    _Pair(
        "prune_after",
        lambda chosen: chosen.prune_after >= chosen.stale_after,
        "at least REEL_STALE_AFTER, which is {stale_after:g}",
        "raise it: a worker that is only silent must find its instance again",
    ),
    _Pair(
        "server_url",
        lambda chosen: bool(chosen.server_url or not (chosen.server_key or chosen.server_key_file)),
        "the address of the server that the key is for",
        "name it, https://…, or unset REEL_SERVER_KEY and REEL_SERVER_KEY_FILE",
    ),
    _Pair(
        "server_key_file",
        lambda chosen: not (chosen.server_key and chosen.server_key_file),
        "no REEL_SERVER_KEY beside it",
        "set one of the two",
    ),
    _Pair(
        "remote_downloads",
        lambda chosen: chosen.remote_downloads == "server" or chosen.storage_url.startswith(("s3://", "gs://")),
        "server, because REEL_STORAGE_URL is no bucket",
        "only a bucket has signed addresses: unset it, or set REEL_STORAGE_URL to s3:// or gs://",
    ),
    _Pair(
        "redis_url",
        lambda chosen: bool(chosen.redis_url or chosen.dispatch not in ("redis", "hybrid")),
        "redis://… or rediss://… with REEL_DISPATCH={dispatch}",
        "name the Redis, or set REEL_DISPATCH=database",
    ),
    _Pair(
        "redis_cert",
        lambda chosen: bool(chosen.redis_cert or not chosen.redis_key),
        "the certificate of REEL_REDIS_KEY",
        "name both, or neither",
    ),
    _Pair(
        "redis_url",
        lambda chosen: (
            not (
                chosen.redis_url
                and (chosen.redis_ca or chosen.redis_cert)
                and not chosen.redis_url.startswith("rediss://")
            )
        ),
        "rediss://… beside REEL_REDIS_CA or REEL_REDIS_CERT",
        "without TLS no certificate is checked or shown: begin the address with rediss://, or unset the files",
    ),
    _Pair(
        "upload_unused",
        lambda chosen: chosen.upload_unused >= chosen.upload_open,
        "at least REEL_UPLOAD_OPEN, which is {upload_open}",
        "raise it, or lower REEL_UPLOAD_OPEN: an upload under way counts for both",
    ),
    _Pair(
        "tls_cert",
        lambda chosen: bool(chosen.tls_cert or not chosen.tls_key),
        "the certificate of REEL_TLS_KEY",
        "name both, --tls-cert and --tls-key",
    ),
)
"""Pairs that would misbehave without a word. Others need no check: a lease is renewed three times before it runs out
whatever the heartbeat is, and the keeper takes no pause for a gap that is shorter than two of its sweeps."""


def _check_pairs(settings: Settings) -> None:
    for pair in _PAIRS:
        if not pair.holds(settings):
            field = next(each for each in dataclasses.fields(Settings) if each.name == pair.name)
            expected = pair.expected.format(**dataclasses.asdict(settings))
            raise InvalidSetting(
                variable(pair.name), _shown(field, getattr(settings, pair.name)), expected, hint=pair.hint
            )


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as it is in force, fit to be shown."""

    name: str
    variable: str
    value: str | int | float
    default: str | int | float
    source: str
    """`default`, `environment`, or `given` at the start."""
    meaning: str


def effective_settings(environment: Mapping[str, str]) -> list[Setting]:
    """Every setting with its value, in the order of declaration; passwords are masked."""
    return describe_settings(from_environment(environment), environment)


def describe_settings(settings: Settings, environment: Mapping[str, str]) -> list[Setting]:
    """The same for settings that were made already: what is not from the environment was given at the start."""
    return [
        Setting(
            name=field.name,
            variable=variable(field.name),
            value=_shown(field, getattr(settings, field.name)),
            default=getattr(DEFAULTS, field.name),
            source=_source(field, settings, environment),
            meaning=field.metadata["meaning"],
        )
        for field in dataclasses.fields(Settings)
    ]


def _source(field: dataclasses.Field[Any], settings: Settings, environment: Mapping[str, str]) -> str:
    if environment.get(variable(field.name)):
        return "environment"
    return "default" if getattr(settings, field.name) == field.default else "given"


def _shown(field: dataclasses.Field[Any], value: Any) -> Any:
    return "***" if field.metadata["secret"] and value else mask_url(value)


def mask_url(value: Any) -> Any:
    """A value without the password that an address may carry."""
    if not isinstance(value, str):
        return value
    return _PASSWORD.sub(r"\1***", _USER_PASSWORD.sub(r"\1***@", value))


def variables() -> list[str]:
    """The environment variables that mean something."""
    return [variable(field.name) for field in dataclasses.fields(Settings)]


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that mean nothing: most often a slip of the pen."""
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in variables())


def unknown_variable_warnings(environment: Mapping[str, str]) -> list[str]:
    """A line for each variable that means nothing, with the one that was perhaps meant."""
    return [f"{name} is set, but there is no such setting{_near(name)}" for name in unknown_variables(environment)]


def _near(name: str) -> str:
    longer = [known for known in variables() if known.endswith(f"_{name.removeprefix(PREFIX)}")]
    near = longer if len(longer) == 1 else difflib.get_close_matches(name, variables(), 1)
    return f"; is it {near[0]}?" if near else ""
