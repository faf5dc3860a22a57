"""The verbs that commands use: of an engine on a database, or of a client of a server. A command sees no difference."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Unpack, cast

from reelstate.artifacts import keys as paths
from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest
from reelstate.core.group import GroupDetail
from reelstate.core.limit import LimitOptions, LimitRecord
from reelstate.core.machine import JobStatus, TaskStatus
from reelstate.core.model import (
    Entity,
    Event,
    Job,
    JobDetail,
    Json,
    LogEntry,
    Page,
    PipelineVersion,
    StepEntry,
    Submission,
    SubmitOptions,
    Submitted,
    Task,
    TaskKey,
    Verdict,
    Worker,
)
from reelstate.core.pause import Pause, TargetOptions
from reelstate.core.policy import PriorityName
from reelstate.core.schedule import (
    Backfill,
    Overlap,
    Schedule,
    ScheduleChanges,
    ScheduleDetail,
    ScheduleOptions,
    ScheduleRun,
)
from reelstate.core.state import State
from reelstate.core.webhook import Delivery, DeliveryStatus, Webhook, WebhookSecret
from reelstate.core.why import Explanation
from reelstate.engine import Engine
from reelstate.feed.subscriber import FeedMessage
from reelstate.library.ladder import LadderReader
from reelstate.library.model import Video, VideoDetail, VideoStatus
from reelstate.library.playback import Playback
from reelstate.library.videos import Videos
from reelstate.media.packaging.manifest import MASTER
from reelstate.media.planning.quality import Quality
from reelstate.services.export import ListedMonth, list_months, read_month
from reelstate.services.feed import FeedItem
from reelstate.services.keys import Key, Keys, MadeKey
from reelstate.services.limits.limits import LimitStatus
from reelstate.services.operate.operation import Operated, Operation, Selection
from reelstate.services.operate.retry import From
from reelstate.services.pause import Paused
from reelstate.services.states import States

if TYPE_CHECKING:
    from reelstate.client.engine import HttpEngine


class ScheduleVerbs(Protocol):
    """See `Schedules`."""

    async def create(
        self, /, name: str, pipeline: str, timing: str, *, actor: str = ..., **options: Unpack[ScheduleOptions]
    ) -> Schedule: ...
    async def all(self) -> list[Schedule]: ...
    async def get(self, name: str) -> ScheduleDetail: ...
    async def update(self, /, name: str, *, actor: str = ..., **changes: Unpack[ScheduleChanges]) -> Schedule: ...
    async def pause(self, name: str, note: str = ..., *, actor: str = ...) -> Schedule: ...
    async def resume(self, name: str, *, actor: str = ...) -> Schedule: ...
    async def delete(self, name: str, *, actor: str = ...) -> None: ...
    async def trigger(self, name: str) -> ScheduleRun: ...
    async def backfill(
        self, name: str, start: datetime, end: datetime, *, overlap: Overlap | str = ..., dry_run: bool = ...
    ) -> Backfill: ...


class WebhookVerbs(Protocol):
    """See `Webhooks`."""

    async def all(self) -> list[Webhook]: ...
    async def add(
        self,
        url: str,
        *,
        events: Collection[str] = ...,
        user_id: str = ...,
        description: str = ...,
        actor: str = ...,
    ) -> WebhookSecret: ...
    async def update(
        self,
        webhook_id: str,
        *,
        url: str | None = ...,
        events: Collection[str] | None = ...,
        description: str | None = ...,
        enabled: bool | None = ...,
        actor: str = ...,
    ) -> Webhook: ...
    async def remove(self, webhook_id: str) -> None: ...
    async def rotate(self, webhook_id: str, *, overlap: float = ..., actor: str = ...) -> WebhookSecret: ...
    async def deliveries(
        self, webhook_id: str, *, status: DeliveryStatus | None = ..., job_id: int | None = ..., limit: int = ...
    ) -> Page[Delivery]: ...
    async def redeliver(self, webhook_id: str, delivery_id: int) -> Delivery: ...


class LimitVerbs(Protocol):
    """See `Limits`."""

    async def all(self, *, removed: bool = ...) -> list[LimitRecord]: ...
    async def get(self, name: str) -> LimitStatus: ...
    async def set(
        self, name: str, *, actor: str = ..., reason: str | None = ..., **options: Unpack[LimitOptions]
    ) -> LimitRecord: ...
    async def remove(self, name: str, *, actor: str = ..., reason: str | None = ...) -> LimitRecord: ...


class KeyVerbs(Protocol):
    """See `Keys`."""

    async def all(self) -> list[Key]: ...
    async def create(
        self,
        name: str,
        *,
        scopes: Collection[str],
        actor: str = ...,
        user_id: str = ...,
        lifetime: float | None = ...,
    ) -> MadeKey: ...
    async def register_worker(self, name: str, *, actor: str = ..., lifetime: float | None = ...) -> MadeKey: ...
    async def rotate(
        self, key_id: str, *, actor: str = ..., overlap: float = ..., lifetime: float | None = ...
    ) -> MadeKey: ...
    async def revoke(self, key_id: str, *, actor: str = ...) -> bool: ...


class EngineVerbs(Protocol):
    """See `Engine`."""

    @property
    def schedules(self) -> ScheduleVerbs: ...
    @property
    def webhooks(self) -> WebhookVerbs: ...
    @property
    def limits(self) -> LimitVerbs: ...

    async def submit_many(self, submissions: Sequence[Submission]) -> list[Submitted]: ...
    async def pipelines(self) -> list[PipelineVersion]: ...
    async def use_pipeline(self, name: str, digest: str | None) -> PipelineVersion: ...
    async def jobs(
        self,
        *,
        statuses: Collection[JobStatus] | None = ...,
        pipeline: str | None = ...,
        user_id: str | None = ...,
        flagged: bool = ...,
        archived: bool = ...,
        search: str | None = ...,
        limit: int = ...,
        after: str | None = ...,
    ) -> Page[Job]: ...
    async def groups(
        self, *, user_id: str | None = ..., limit: int = ..., after: str | None = ...
    ) -> Page[GroupDetail]: ...
    async def group(self, name: str, *, user_id: str | None = ...) -> GroupDetail: ...
    async def job(self, job_id: int) -> JobDetail: ...
    async def tasks(
        self, job_id: int, *, statuses: Collection[TaskStatus] | None = ..., limit: int = ..., after: str | None = ...
    ) -> Page[Task]: ...
    async def why(
        self,
        job_id: int,
        *,
        stage: str | None = ...,
        part: int | None = ...,
        gpu_grace: float = ...,
        stale_after: float = ...,
    ) -> Explanation: ...
    async def history(self, job_id: int, *, limit: int = ..., after: str | None = ...) -> Page[Event]: ...
    async def logs(
        self, job_id: int, *, key: TaskKey | None = ..., after: str | None = ..., settled: bool = ...
    ) -> Page[LogEntry]: ...
    async def steps(self, job_id: int, *, key: TaskKey | None = ..., after: str | None = ...) -> Page[StepEntry]: ...
    async def states(self, job_id: int | str, stage: str | None = ...) -> States: ...
    def subscribe(
        self,
        job_id: int | None = ...,
        *,
        after: str | None = ...,
        only: Collection[Entity] | None = ...,
        settle: bool = ...,
    ) -> AsyncGenerator[FeedMessage[FeedItem], None]: ...
    def watch(self, job_id: int | None = ...) -> AsyncGenerator[Event, None]: ...
    async def workers(self) -> list[Worker]: ...
    async def worker_names(self) -> list[str]: ...
    async def drain(self, name: str, *, actor: str = ..., reason: str | None = ...) -> list[int]: ...
    async def enable(self, name: str, *, actor: str = ..., reason: str | None = ...) -> list[int]: ...
    async def disable(self, name: str, *, actor: str = ..., reason: str | None = ...) -> int: ...
    async def revoke(self, name: str, *, actor: str = ...) -> tuple[int, int]: ...
    async def pause(
        self,
        /,
        *,
        actor: str = ...,
        reason: str | None = ...,
        release_running: bool = ...,
        **target: Unpack[TargetOptions],
    ) -> Paused: ...
    async def resume(
        self, /, *, actor: str = ..., reason: str | None = ..., **target: Unpack[TargetOptions]
    ) -> Pause: ...
    async def pauses(self, *, lifted: bool = ...) -> list[Pause]: ...
    async def count_jobs(self, selection: Selection) -> int: ...
    async def cancel_many(self, operation: Operation) -> list[Operated]: ...
    async def retry_many(self, operation: Operation, start: From | None = ...) -> list[Operated]: ...
    async def quarantine_many(self, operation: Operation) -> list[Operated]: ...
    async def force_many(self, operation: Operation, target: JobStatus) -> list[Operated]: ...
    async def reprioritise_many(self, operation: Operation, priority: int | PriorityName) -> list[Operated]: ...


class QualityReader(Protocol):
    """Reads the qualities of one job repeatedly."""

    async def read(self, detail: JobDetail, current: Sequence[Task]) -> list[Quality]: ...


class VideoVerbs(Protocol):
    """See `Videos`; and what shows and plays a video."""

    async def list(
        self,
        *,
        statuses: Collection[VideoStatus] | None = ...,
        user_id: str | None = ...,
        deleted: bool = ...,
        limit: int = ...,
        after: str | None = ...,
    ) -> Page[Video]: ...
    async def get(self, video_id: int) -> VideoDetail: ...
    async def retranscode(
        self, /, video_id: int, *, spec: Json = ..., **options: Unpack[SubmitOptions]
    ) -> Submitted: ...
    async def pin(self, /, video_id: int, job_id: int, *, actor: str = ..., reason: str | None = ...) -> Verdict: ...
    async def unpin(self, /, video_id: int, *, actor: str = ..., reason: str | None = ...) -> Verdict: ...
    async def rollback(self, /, video_id: int, *, actor: str = ..., reason: str | None = ...) -> int: ...
    async def delete(self, /, video_id: int, *, actor: str = ..., reason: str | None = ...) -> Verdict: ...
    def qualities(self) -> QualityReader: ...
    def playlist(self, video_id: int) -> str: ...
    async def has_playlist(self, video_id: int) -> bool: ...
    async def open_playback(self, video_id: int, lifetime: float) -> tuple[str, datetime]: ...


class ArchiveVerbs(Protocol):
    """The months of the archive, to read."""

    async def months(self) -> list[ListedMonth]: ...
    def rows(self, month: str, table: str) -> AsyncGenerator[dict[str, Any], None]: ...


class StoreVideos(Videos):
    """The videos of a database, and the storage of the settings."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        super().__init__(engine)
        self._settings = settings

    def qualities(self) -> QualityReader:
        return LadderReader(self._engine)

    def playlist(self, video_id: int) -> str:
        """Return the URL or path of the playlist of the current version."""
        root = self._settings.storage_url
        base = root if "://" in root else str(Path(root).expanduser().absolute())
        return f"{base.rstrip('/')}/{paths.video(video_id, MASTER)}"

    async def has_playlist(self, video_id: int) -> bool:
        return await open_storage(self._settings.storage_url).exists(paths.video(video_id, MASTER))

    async def open_playback(self, video_id: int, lifetime: float) -> tuple[str, datetime]:
        """Return an address at the server of this machine, as long valid as its first admin key."""
        from reelstate.cli.serving import find_server, read_admin_key  # noqa: PLC0415 - slow to import

        text = read_admin_key(self._settings)
        if text is None:
            raise InvalidRequest("key", "there is no key in the key file", hint="`reel serve` creates one")
        base = await find_server(self._settings)
        key = await Keys(self._store, pepper=self._settings.key_pepper).authenticate(text)
        ticket = await Playback(self._store).open(video_id, key_id=key.id, owner=None, lifetime=lifetime)
        return f"{base}/play/{ticket.text}/{paths.video(video_id, MASTER)}", ticket.expires_at


class StoreArchive:
    """The archive of a database, and its exports in the storage of the settings."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._store = engine.store
        self._storage = open_storage(settings.storage_url)

    async def months(self) -> list[ListedMonth]:
        return await list_months(self._store, self._storage)

    def rows(self, month: str, table: str) -> AsyncGenerator[dict[str, Any], None]:
        return read_month(self._store, self._storage, month, table)


def videos_of(engine: EngineVerbs, settings: Settings) -> VideoVerbs:
    return StoreVideos(engine, settings) if isinstance(engine, Engine) else _client(engine).videos


def keys_of(engine: EngineVerbs, settings: Settings) -> KeyVerbs:
    if isinstance(engine, Engine):
        return Keys(engine.store, pepper=settings.key_pepper)
    return _client(engine).keys


def archive_of(engine: EngineVerbs, settings: Settings) -> ArchiveVerbs:
    return StoreArchive(engine, settings) if isinstance(engine, Engine) else _client(engine).archive


def qualities_of(engine: EngineVerbs) -> QualityReader:
    return LadderReader(engine) if isinstance(engine, Engine) else _client(engine).videos.qualities()


async def state_versions(engine: EngineVerbs, name: str) -> AsyncIterator[State]:
    """Yield every version of the states of a job of the state manager, and then new ones."""
    if not isinstance(engine, Engine):
        async for state in _client(engine).state_versions(name):
            yield state
        return
    async with await engine.state_manager(name) as monitor:
        async for message in monitor.subscribe(after="0"):
            if message.item is not None:
                yield message.item


def _client(engine: EngineVerbs) -> HttpEngine:
    """Return the other implementation; its module is slow to import, and is loaded where it is used."""
    return cast("HttpEngine", engine)
