"""Pauses: what an operator has paused, and the record of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Self, TypedDict

from reelstate.core.errors import InvalidRequest


class PauseScope(StrEnum):
    """What a pause is about."""

    ALL = "all"
    PIPELINE = "pipeline"
    STAGE = "stage"
    USER = "user"
    WORKER = "worker"


class TargetOptions(TypedDict, total=False):
    """The target of a pause: one of everything, a pipeline (or a stage of it), a user, a worker's name."""

    everything: bool
    pipeline: str | None
    stage: str | None
    user_id: str | None
    worker: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """What is paused. `name` is the pipeline, user or worker; empty for everything."""

    scope: PauseScope
    name: str = ""
    stage: str = ""

    @classmethod
    def of(
        cls,
        *,
        everything: bool = False,
        pipeline: str | None = None,
        stage: str | None = None,
        user_id: str | None = None,
        worker: str | None = None,
    ) -> Self:
        """Return the target that these options name. Raises `InvalidRequest` unless they name exactly one."""
        named = [
            cls(scope, name)
            for scope, name in (
                (PauseScope.PIPELINE, pipeline),
                (PauseScope.USER, user_id),
                (PauseScope.WORKER, worker),
            )
            if name
        ]
        if everything:
            named.append(cls(PauseScope.ALL))
        if len(named) != 1 or (stage and not pipeline):
            raise InvalidRequest(
                "target",
                "does not name one thing",
                hint="give one of everything, pipeline, pipeline and stage, user, worker",
            )
        return cls(PauseScope.STAGE, named[0].name, stage) if stage else named[0]

    def __str__(self) -> str:
        if self.scope is PauseScope.ALL:
            return "everything"
        if self.scope is PauseScope.STAGE:
            return f"stage {self.name}.{self.stage}"
        return f"{self.scope} {self.name}"


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause and who set it; when it was lifted, by whom."""

    id: int
    target: Target
    reason: str | None
    actor: str
    paused_at: datetime
    resumed_at: datetime | None = None
    resumed_by: str | None = None
    resumed_reason: str | None = None

    def __str__(self) -> str:
        """Return a sentence, such as `stage transcode.encode is paused by operator:ann: "new driver"`."""
        reason = f': "{self.reason}"' if self.reason else ""
        verb = "are" if self.target.scope is PauseScope.USER else "is"
        subject = f"jobs of {self.target}" if self.target.scope is PauseScope.USER else str(self.target)
        return f"{subject} {verb} paused by {self.actor}{reason}"
