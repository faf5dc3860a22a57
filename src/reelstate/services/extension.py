"""Hooks for a package that keeps records beside jobs, in the engine's own transactions. The video library is one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from reelstate.core.errors import InvalidRequest
from reelstate.core.model import Resource
from reelstate.core.webhook import EventType
from reelstate.dispatch.hints import ChannelMessage
from reelstate.services.catalogue import Catalogue
from reelstate.stores.store import Store, Transaction


class NewJob(NamedTuple):
    """A job that is about to be created for a resource."""

    resource: Resource
    user_id: str
    spec: str
    """Its spec as JSON text."""


class LinkedJob(NamedTuple):
    """The id of a job's resource, and the job's complete spec as JSON text."""

    resource_id: int
    spec: str


class Extension(Protocol):
    """What the engine calls where jobs have resources. An engine has one extension at most."""

    noun: str
    """The name of a resource in messages."""

    async def link(self, transaction: Transaction, jobs: Sequence[NewJob]) -> list[LinkedJob]:
        """Create or lock the resources of new jobs, and complete the specs of the jobs, in the given order."""
        ...

    async def on_forced_complete(self, transaction: Transaction, job_ids: Sequence[int]) -> None:
        """Note that jobs were forced to `completed` and have no outputs."""
        ...

    async def keeps(self, transaction: Transaction, job_ids: Sequence[int]) -> Collection[int]:
        """Return those of finished jobs with a resource that it still needs, so that they are not archived."""
        ...

    async def messages(self, store: Store, catalogue: Catalogue, job_ids: Collection[int]) -> list[ChannelMessage]:
        """Return what the dispatch publishes about jobs that made progress or became inactive."""
        ...

    def event_types(self) -> Sequence[EventType]:
        """Return the types of events, of its resources, that webhooks can get."""
        ...


class NoExtension:
    """An engine without an extension: jobs have no resources."""

    noun = "resource"

    async def link(self, transaction: Transaction, jobs: Sequence[NewJob]) -> list[LinkedJob]:  # noqa: ARG002
        raise InvalidRequest(
            "resource", "this engine has no extension that knows it", hint="Engine(store, extension=…)"
        )

    async def on_forced_complete(self, transaction: Transaction, job_ids: Sequence[int]) -> None:
        pass

    async def keeps(self, transaction: Transaction, job_ids: Sequence[int]) -> Collection[int]:  # noqa: ARG002
        return ()

    async def messages(
        self,
        store: Store,  # noqa: ARG002
        catalogue: Catalogue,  # noqa: ARG002
        job_ids: Collection[int],  # noqa: ARG002
    ) -> list[ChannelMessage]:
        return []

    def event_types(self) -> Sequence[EventType]:
        return ()


NO_EXTENSION = NoExtension()
