"""Settings: the name, default, bounds and meaning of each. Its environment variable has the prefix `REEL_`.

`reel config` and the documentation read them from here. Nothing below the composition root reads the environment.
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
from reelstate.telemetry.tracing import PARTS_PER_STAGE

PREFIX = "REEL_"
LOG_LEVELS = ("debug", "info", "warning", "error")
_PATH_PREFIX = re.compile(r"(?:/(?!\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)+", re.ASCII)
MAX_PREFIX = 200
"""Characters of a path prefix."""
_USER_PASSWORD = re.compile(r"(://[^/?#:@]*:)[^/?#]*@")
_PASSWORD = re.compile(r"(password=)[^&\s]*", re.IGNORECASE)


def setting(
    default: Any, meaning: str, *, minimum: float | None = None, choices: tuple[str, ...] = (), secret: bool = False
) -> Any:
    """Declare a field of `Settings`. `minimum` and `choices` bound its values; a secret is never shown."""
    metadata = {"meaning": meaning, "minimum": minimum, "choices": choices, "secret": secret}
    return dataclasses.field(default=default, metadata=metadata, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a process. Durations are in seconds."""

    database_url: str = setting(
        "sqlite:///reelstate.db", "Address of the store: sqlite:///FILE, a path, or postgresql://…"
    )
    database_connections: int = setting(4, "Size of the connection pool to PostgreSQL.", minimum=1)
    database_timeout: float = setting(60.0, "How long a call waits for an unreachable database.", minimum=0)
    migrate: str = setting(
        "default",
        "When the schema is migrated: auto (when a store is opened), never (only by `reel migrate`), or default: auto"
        " for SQLite and `reel up`, never for the other commands on PostgreSQL.",
        choices=("default", "auto", "never"),
    )
    app: str = setting("", "Your pipelines: module:name of one, or of a list of them.")

    worker_name: str = setting("", "Name of the worker; when empty, the host name.")
    worker_concurrency: int = setting(4, "Tasks that a worker runs at once.", minimum=1)
    worker_capabilities: str = setting(
        "", "Capabilities of a worker beyond those it detects: names separated by commas; -name removes one."
    )
    worker_pipelines: str = setting(
        "", "Pipelines that a worker runs, built-in ones included: names separated by commas; when empty, all it has."
    )
    worker_prefetch: int = setting(500, "Short tasks that a worker may claim beyond those it runs.", minimum=0)
    worker_grace: float = setting(30.0, "How long a stopping worker lets its tasks finish.", minimum=0)
    worker_kill_after: float = setting(
        5.0, "How long a stopped handler may take to clean up before it is killed.", minimum=0
    )
    heartbeat: float = setting(10.0, "How often a worker renews its leases.", minimum=0.05)
    poll: float = setting(1.0, "How often an idle worker polls for tasks when no wake-up arrives.", minimum=0.01)
    gpu_grace: float = setting(
        60.0, "How long a new task is reserved for an idle worker with the capabilities that it prefers.", minimum=0
    )
    wants_grace: float = setting(
        60.0, "How long a task waits for a worker with an optional capability, such as an encoder.", minimum=0
    )

    server_url: str = setting(
        "", "Server of a remote worker, https://…; empty for a worker with access to the database."
    )
    server_key: str = setting("", "Key of a remote worker.", secret=True)
    server_key_file: str = setting("", "File with this key.")
    remote_file_limit: int = setting(64 * 1024**3, "Largest file that a remote worker may send, in bytes.", minimum=1)
    remote_body_limit: int = setting(
        4 * 1024**2, "Largest report or result that a remote worker may send as JSON, in bytes.", minimum=64 * 1024
    )
    instances_per_key: int = setting(
        100, "Live instances of a remote worker: all that registered with keys of one name.", minimum=1
    )
    remote_downloads: str = setting(
        "server",
        "How remote workers download files: server (through the server) or signed (signed URLs of the bucket).",
        choices=("server", "signed"),
    )

    server: str = setting(
        "", "Server that commands talk to instead of a database: its address, or the name of a profile of `reel login`."
    )
    key: str = setting("", "Key that commands send to this server.", secret=True)
    insecure_http: str = setting(
        "refuse",
        "Whether commands may send a key unencrypted, over http:// to another machine: refuse or allow.",
        choices=("refuse", "allow"),
    )

    dispatch: str = setting(
        "database",
        "How workers learn of tasks: database (NOTIFY, or a wake-up file beside SQLite), poll, redis (which must be"
        " reachable at the start) or hybrid (Redis, and the database while Redis is unreachable).",
        choices=("database", "poll", "redis", "hybrid"),
    )
    redis_url: str = setting("", "Address of Redis: redis://…, or rediss://user:password@host:port/0 with TLS.")
    redis_prefix: str = setting("reelstate", "Prefix of all keys and channels; each database needs its own.")
    redis_queue: str = setting(
        "sorted",
        "Hints in Redis: sorted (exact order) or streams (high, normal, low; consumer groups).",
        choices=("sorted", "streams"),
    )
    redis_pool: int = setting(10, "Size of the connection pool to Redis.", minimum=2)
    redis_timeout: float = setting(0.5, "Timeout of a command to Redis.", minimum=0.01)
    redis_reconcile: float = setting(
        30.0, "How often Redis is reconciled with the database, and a worker polls the database.", minimum=0.1
    )
    redis_mirror: int = setting(
        10_000, "Ready tasks that Redis mirrors; further ones are only in the database.", minimum=1
    )
    redis_ca: str = setting("", "File with the CA certificates for Redis; when empty, those of the system.")
    redis_cert: str = setting("", "File with the client certificate for Redis.")
    redis_key: str = setting("", "File with the key of that certificate.")

    orchestrate_every: float = setting(
        1.0, "How often the keeper makes due tasks ready and starts jobs that waited for others.", minimum=0.01
    )
    schedules_every: float = setting(1.0, "How often the keeper looks for ticks of schedules.", minimum=0.01)
    sweep_every: float = setting(5.0, "How often the keeper reclaims expired leases.", minimum=0.01)
    sweep_limit: int = setting(500, "Leases that one sweep reclaims at most.", minimum=1)
    stale_after: float = setting(
        45.0, "Seconds without a heartbeat after which a worker counts as offline.", minimum=0.1
    )
    stall_after: float = setting(
        0.0,
        "Seconds after which a run that reports no progress counts as stalled, in stages that set no stall_after; 0"
        " for never.",
        minimum=0,
    )
    stall_action: str = setting(
        "recover",
        "What happens to a stalled run: recover (end it and make its task ready again) or flag (flag its job for an"
        " operator).",
        choices=STALL_ACTIONS,
    )
    keeper_gap: float = setting(
        60.0, "A pause of all keepers longer than this, or than a third of a lease, starts a grace period.", minimum=0
    )
    keeper_grace: float = setting(
        120.0, "Longest grace period: for the length of a lease, at most this, no lease is reclaimed.", minimum=0
    )
    check_every: float = setting(300.0, "How often the keeper runs the quick invariant checks.", minimum=0.01)
    keep_states: float = setting(
        30 * 86_400.0, "How long states of finished jobs, and old versions of states, are kept.", minimum=1
    )
    archive_every: float = setting(3600.0, "How often the keeper archives jobs and applies retention.", minimum=0.01)
    archive_after: float = setting(
        30 * 86_400.0, "How long after its end a completed or cancelled job is archived; 0 for never.", minimum=0
    )
    archive_failed_after: float = setting(
        180 * 86_400.0, "How long after its end a failed or quarantined job is archived; 0 for never.", minimum=0
    )
    retention: float = setting(
        0.0, "How long archived jobs are kept after the last one of their month finished; 0 for ever.", minimum=0
    )
    archive_export: str = setting(
        "off",
        "Whether a month is written to the storage, as archive/YYYY-MM/*.jsonl.gz, before retention deletes it.",
        choices=("off", "on"),
    )
    keep_idempotency: float = setting(
        30 * 86_400.0, "How long an idempotency key is remembered; 0 for ever.", minimum=0
    )
    keep_logs: float = setting(0.0, "How long log lines are kept; 0 for as long as their jobs.", minimum=0)
    keep_steps: float = setting(
        0.0, "How long commands and their output are kept; 0 for as long as their jobs.", minimum=0
    )
    keep_worker_events: float = setting(
        90 * 86_400.0, "How long events of workers that were pruned, and of findings, are kept; 0 for ever.", minimum=0
    )
    keep_schedule_runs: float = setting(
        90 * 86_400.0, "How long the record of what became of the ticks of schedules is kept; 0 for ever.", minimum=0
    )
    prune_after: float = setting(7 * 86_400.0, "How long an offline worker instance stays listed.", minimum=1)

    storage_url: str = setting(
        "media", "Storage of sources and streams: a folder, or file://, s3://, gs:// or az:// with a prefix."
    )
    scratch: str = setting("", "Folder for the files of running tasks; when empty, the system's temporary folder.")
    source_cache: int = setting(
        20 * 1024**3, "Size of a worker's cache of sources, in bytes, when the storage is not a folder.", minimum=0
    )
    input_limit: int = setting(200 * 1024**3, "Largest source, in bytes.", minimum=1)
    input_roots: str = setting(
        "", "Folders from which sources may be read, separated by colons; when empty, any that the worker can read."
    )
    input_hosts: str = setting(
        "",
        "Hosts on private addresses from which sources may be fetched, separated by commas; public hosts always may.",
    )
    input_buckets: str = setting(
        "",
        "Buckets, or prefixes of them, from which users may name sources over HTTP, separated by commas; only admins"
        " may name others.",
    )
    upload_folder: str = setting(
        "",
        "Folder for unfinished uploads, shared by all servers; when empty, in the folder of the storage, else in the"
        " scratch folder.",
    )
    upload_lifetime: float = setting(86_400.0, "How long an upload is kept after its last bytes arrived.", minimum=1)
    upload_open: int = setting(50, "Unfinished uploads of a user.", minimum=1)
    upload_unused: int = setting(1000, "Uploads of a user, unfinished or finished, that no video uses yet.", minimum=1)
    upload_quota: int = setting(
        500 * 1024**3, "Bytes of these uploads; the announced size counts from the start.", minimum=1
    )
    ffmpeg: str = setting("", "Path of ffmpeg; when empty, the one on PATH, else the one of the wheel.")
    sandbox: str = setting(
        "auto",
        "Run ffmpeg and the probe in a sandbox, bubblewrap or else Landlock: auto (where one works; required on remote"
        " workers and where some are registered), require or off.",
        choices=("auto", "require", "off"),
    )
    encode_threads: int = setting(
        0, "Threads of one encoder; 0 divides the cores of the machine by the tasks that a worker runs.", minimum=0
    )
    keep_versions: float = setting(7 * 86_400.0, "How long a superseded version of a video is kept.", minimum=0)

    webhook_allow: str = setting(
        "",
        "Hosts, or host:port, that webhooks and callbacks may address although they are private or have no TLS,"
        " separated by commas; public https:// hosts always may.",
    )
    webhook_timeout: float = setting(15.0, "How long an endpoint may take to answer a delivery.", minimum=0.1)
    webhook_concurrency: int = setting(32, "Deliveries that a keeper sends at once.", minimum=1)
    webhook_per_endpoint: int = setting(
        4, "Deliveries that all keepers together send to one endpoint at once.", minimum=1
    )
    webhook_disable_after: float = setting(
        5 * 86_400.0, "How long every attempt must fail before a webhook is disabled.", minimum=60
    )
    webhook_keep: float = setting(30 * 86_400.0, "How long deliveries and their attempts are kept.", minimum=60)

    alert_url: str = setting(
        "", "Address that alerts are sent to: an incoming webhook of Slack or Discord, or any URL.", secret=True
    )
    alert_format: str = setting(
        "auto",
        "Format of alerts: slack, discord, webhook (signed JSON), or auto (by the address).",
        choices=("auto", "slack", "discord", "webhook"),
    )
    alert_secret: str = setting(
        "", "Secret that signs alerts in the format webhook: whsec_ and base64 of 24 to 64 bytes.", secret=True
    )
    alert_events: str = setting(
        "", "Alerts that are sent, separated by commas; when empty, all but worker_startup and worker_shutdown."
    )
    alert_cooldown: float = setting(
        300.0, "How long alerts of one type and subject are collected after one was sent.", minimum=0
    )
    alert_timeout: float = setting(10.0, "How long the receiver of an alert may take to answer.", minimum=0.1)
    alert_failures: int = setting(
        3, "Failed jobs of one video or pipeline within the window that are a pattern.", minimum=1
    )
    alert_window: float = setting(3600.0, "Length of this window.", minimum=1)
    alert_queue_age: float = setting(
        900.0, "Age of the oldest ready task of a pipeline that counts as stuck; 0 for never.", minimum=0
    )
    alert_disk_free: float = setting(
        5.0, "Percent of free space of a disk below which an alert is sent; 0 for never.", minimum=0
    )

    serve_host: str = setting("127.0.0.1", "Address that the HTTP server listens on.")
    serve_port: int = setting(8700, "Port that the HTTP server listens on; 0 for a free one.", minimum=0)
    serve_grace: float = setting(10.0, "How long a stopping server lets requests finish.", minimum=0)
    tls_cert: str = setting("", "File with the certificate chain for HTTPS.")
    tls_key: str = setting("", "File with the key of that certificate.")
    trusted_proxies: str = setting(
        "", "Addresses of proxies whose forwarding headers are trusted, separated by commas."
    )
    path_prefix: str = setting(
        "",
        "Path under which a proxy serves this server, such as /reelstate; requests may come with or without it. When"
        " empty, the X-Forwarded-Prefix of a trusted proxy.",
    )
    state_dir: str = setting(
        "",
        "Private folder for the first admin key, the server's address and sign-in codes; when empty,"
        " $XDG_STATE_HOME/reelstate, else ~/.local/state/reelstate.",
    )
    key_file: str = setting(
        "", "File that the first admin key is written to; when empty, one in the state directory (`reel keys path`)."
    )
    key_pepper: str = setting(
        "", "Pepper of the stored key digests; keys are valid only with the same one.", secret=True
    )
    rate_per_key: float = setting(200.0, "Requests per second of a key, with bursts of twice as many.", minimum=0.1)
    rate_per_address: float = setting(
        400.0, "Requests per second of an address, with bursts of twice as many.", minimum=0.1
    )
    connections_per_address: int = setting(
        500, "Connections that a server accepts from one address; those of trusted proxies are not counted.", minimum=1
    )
    connections_per_server: int = setting(
        10_000, "Connections that a server accepts; fewer if the limit of open files is lower.", minimum=1
    )
    limit_body: int = setting(1024 * 1024, "Largest JSON body of a request, in bytes.", minimum=1024)
    read_timeout: float = setting(
        2.0,
        "How long a read over HTTP waits for an unreachable database; a write waits database_timeout.",
        minimum=0,
    )
    body_timeout: float = setting(20.0, "How long the body of a request may take to arrive.", minimum=0.1)

    stream_heartbeat: float = setting(15.0, "How often a live stream without events sends its cursor.", minimum=0.1)
    stream_retry: float = setting(2.0, "How long a client of a live stream waits before it reconnects.", minimum=0)
    stream_timeout: float = setting(
        30.0, "How long a live stream waits for a client that reads nothing before it is closed.", minimum=0.1
    )
    streams_per_key: int = setting(10, "Live streams of a key and its sessions at one server.", minimum=1)
    streams_per_server: int = setting(2_000, "Live streams of one server.", minimum=1)

    metrics_port: int = setting(
        0,
        "Port for the metrics of this process, such as a worker; 0 for none. With `reel up`, worker N has the port that"
        " is N higher.",
        minimum=0,
    )
    metrics_host: str = setting("127.0.0.1", "Address that this port is opened on.")
    metrics_names: str = setting(
        "prefixed", "Names of metrics: prefixed (reelstate_…) or bare.", choices=("prefixed", "bare")
    )
    metrics_access: str = setting(
        "default",
        "Who may read /metrics of a server: open (anyone), key (a key with the scope `metrics` or `admin`), or default:"
        " anyone on the same machine whose request no proxy has forwarded, others with such a key.",
        choices=("default", "open", "key"),
    )

    traces: str = setting(
        "off",
        "Where the spans of this process are sent: off, or otlp (a collector, over HTTP; `OTEL_EXPORTER_OTLP_ENDPOINT`"
        " and the other standard variables of OpenTelemetry describe it). Needs the extra `reelstate[otel]`.",
        choices=("off", "otlp"),
    )
    trace_parts: int = setting(
        PARTS_PER_STAGE,
        "Parts of a stage whose attempts are all in the trace of their job; of further parts ever fewer are. Attempts"
        " that fail or are lost always are.",
        minimum=0,
    )

    log_level: str = setting("info", "Lowest level that is logged.", choices=LOG_LEVELS)
    log_format: str = setting(
        "text", "Format of log lines: text, or json (one object per line).", choices=("text", "json")
    )
    log_tasks: str = setting(
        "info", "Level at which a worker logs the start and the completion of each task.", choices=("debug", "info")
    )
    job_logs: str = setting(
        "warning",
        "Lowest level of what handlers log with Python's `logging` that is also stored in the log of their job (`reel"
        " logs`); off for none.",
        choices=("off", *LOG_LEVELS),
    )

    limit_spec: int = setting(LIMITS.spec, "Largest spec of a job, in bytes.", minimum=1)
    limit_checkpoint: int = setting(LIMITS.checkpoint, "Largest checkpoint, in bytes.", minimum=1)
    limit_result: int = setting(LIMITS.result, "Largest result of a task, in bytes.", minimum=1)
    limit_error: int = setting(LIMITS.error, "Longest error text, in characters.", minimum=1)

    @property
    def limits(self) -> DocumentLimits:
        """The limits of documents."""
        return dataclasses.replace(
            LIMITS,
            spec=self.limit_spec,
            checkpoint=self.limit_checkpoint,
            result=self.limit_result,
            error=self.limit_error,
        )


DEFAULTS = Settings()


def checked_prefix(text: str) -> str | None:
    """Return a path prefix such as `/media/reel` without a slash at its end, or ""; None for a text that is none."""
    prefix = text.rstrip("/")
    if not prefix:
        return ""
    return prefix if len(prefix) <= MAX_PREFIX and _PATH_PREFIX.fullmatch(prefix) else None


def from_environment(environment: Mapping[str, str], **given: Any) -> Settings:
    """Read settings from `REEL_…` variables; those in `given` that are not None take precedence.

    Raises `InvalidSetting` for a wrong value and for two that contradict each other.
    """
    read: dict[str, Any] = {}
    for field in dataclasses.fields(Settings):
        if given.get(field.name) is not None:
            read[field.name] = _validate(field, given[field.name])
        elif text := environment.get(variable(field.name)):
            read[field.name] = _validate(field, _parse(field, text))
    settings = Settings(**read)
    _check_pairs(settings)
    return dataclasses.replace(settings, database_url=database_url(settings.database_url))


def variable(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.upper()


def _parse(field: dataclasses.Field[Any], text: str) -> Any:
    kind: Callable[[str], Any] = type(field.default)
    try:
        return kind(text)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        raise InvalidSetting(variable(field.name), text, expected, hint=_default(field)) from None


def _validate(field: dataclasses.Field[Any], value: Any) -> Any:
    minimum, choices = field.metadata["minimum"], field.metadata["choices"]
    if choices and value not in choices:
        expected = f"{', '.join(choices[:-1])} or {choices[-1]}"
        raise InvalidSetting(variable(field.name), value, expected, hint=_default(field))
    if minimum is not None and not (minimum <= value < math.inf):
        raise InvalidSetting(variable(field.name), value, f"at least {minimum}", hint=_default(field))
    return value


def _default(field: dataclasses.Field[Any]) -> str:
    return f"the default is {field.default}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """A condition on a setting that depends on others."""

    name: str
    holds: Callable[[Settings], bool]
    expected: str
    """A format string; settings in braces are replaced by their values."""
    hint: str


_PAIRS = (
    _Pair(
        "path_prefix",
        lambda chosen: checked_prefix(chosen.path_prefix) is not None,
        "a path such as /reelstate, of letters, digits and . _ ~ -",
        "unset it if the server has a host name of its own",
    ),
    _Pair(
        "stale_after",
        lambda chosen: chosen.stale_after >= 2 * chosen.heartbeat,
        "at least twice REEL_HEARTBEAT, which is {heartbeat:g}",
        "raise it, or lower REEL_HEARTBEAT: a worker would count as offline between two heartbeats",
    ),
    _Pair(
        "prune_after",
        lambda chosen: chosen.prune_after >= chosen.stale_after,
        "at least REEL_STALE_AFTER, which is {stale_after:g}",
        "raise it: an offline worker that reconnects must find its instance",
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
        "server, because REEL_STORAGE_URL is not a bucket",
        "only a bucket has signed URLs: unset it, or set REEL_STORAGE_URL to s3:// or gs://",
    ),
    _Pair(
        "redis_url",
        lambda chosen: bool(chosen.redis_url or chosen.dispatch not in ("redis", "hybrid")),
        "redis://… or rediss://… with REEL_DISPATCH={dispatch}",
        "set it, or set REEL_DISPATCH=database",
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
        "certificates need TLS: start the address with rediss://, or unset the files",
    ),
    _Pair(
        "upload_unused",
        lambda chosen: chosen.upload_unused >= chosen.upload_open,
        "at least REEL_UPLOAD_OPEN, which is {upload_open}",
        "raise it, or lower REEL_UPLOAD_OPEN: an unfinished upload counts for both",
    ),
    _Pair(
        "tls_cert",
        lambda chosen: bool(chosen.tls_cert or not chosen.tls_key),
        "the certificate of REEL_TLS_KEY",
        "name both, --tls-cert and --tls-key",
    ),
)
"""Combinations that would fail silently. A heartbeat longer than a lease is fine, because a lease is renewed three
times before it expires; so is a keeper gap shorter than two sweeps, because the keeper does not count it."""


def _check_pairs(settings: Settings) -> None:
    for pair in _PAIRS:
        if not pair.holds(settings):
            field = next(each for each in dataclasses.fields(Settings) if each.name == pair.name)
            expected = pair.expected.format(**dataclasses.asdict(settings))
            raise InvalidSetting(
                variable(pair.name), _display(field, getattr(settings, pair.name)), expected, hint=pair.hint
            )


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting with its value, masked for display."""

    name: str
    variable: str
    value: str | int | float
    default: str | int | float
    source: str
    """`default`, `environment`, or `given` at the start."""
    meaning: str


def effective_settings(environment: Mapping[str, str]) -> list[Setting]:
    """List every setting with its value, in the order of declaration; passwords are masked."""
    return describe_settings(from_environment(environment), environment)


def describe_settings(settings: Settings, environment: Mapping[str, str]) -> list[Setting]:
    """List every setting of `settings`; one that is not from the environment was given at the start."""
    return [
        Setting(
            name=field.name,
            variable=variable(field.name),
            value=_display(field, getattr(settings, field.name)),
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


def _display(field: dataclasses.Field[Any], value: Any) -> Any:
    return "***" if field.metadata["secret"] and value else mask_url(value)


def mask_url(value: Any) -> Any:
    """Mask the password in an address; other values are returned unchanged."""
    if not isinstance(value, str):
        return value
    return _PASSWORD.sub(r"\1***", _USER_PASSWORD.sub(r"\1***@", value))


def variables() -> list[str]:
    """List the environment variables of all settings."""
    return [variable(field.name) for field in dataclasses.fields(Settings)]


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """List variables with the prefix `REEL_` that no setting has, mostly typos."""
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in variables())


def unknown_variable_warnings(environment: Mapping[str, str]) -> list[str]:
    """Return a warning for each unknown variable, with the closest known one."""
    return [f"{name} is not a setting{_suggest(name)}" for name in unknown_variables(environment)]


def _suggest(name: str) -> str:
    longer = [known for known in variables() if known.endswith(f"_{name.removeprefix(PREFIX)}")]
    near = longer or difflib.get_close_matches(name, variables(), 1)
    return f"; did you mean {' or '.join(near)}?" if near else ""
