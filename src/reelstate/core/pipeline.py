"""A pipeline as data: its stages, checked when declared, and which stages open when others are closed.

A stage is closed when each of its tasks is done, skipped or, in an optional stage, finally failed. `Graph.next` is
orchestration as a pure function: which stages to open, which phase to show, whether the job is complete.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from reelstate.core.errors import InvalidPipeline, InvalidRequest, SchemaMismatch
from reelstate.core.machine import PHASES, JobStatus
from reelstate.core.policy import Backoff
from reelstate.core.state import StateJob, validate_job

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}", re.ASCII)
SPEC = "spec"
"""The root of an `each` path into the job's spec instead of a stage's result."""
SPEC_SOURCE = -1
BUILT_IN = frozenset({"transcode"})
"""Names of the built-in pipelines, which are reserved."""
MAX_CACHED = 1000
MAX_ATTEMPTS = 1000
MAX_LEASE = 86_400
MAX_TIMEOUT = 365 * 86_400
StallAction: TypeAlias = Literal["recover", "flag"]
STALL_ACTIONS = get_args(StallAction)
LATER_OPTIONS: dict[str, Any] = {
    "tags": [],
    "isolate_after": 2,
    "needs_from": None,
    "wants_from": None,
    "stall_action": "recover",
}
"""Options that a document holds only if they differ from these defaults, so that older digests stay the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """A stage of a pipeline as declared. Durations are in seconds."""

    name: str
    after: tuple[str, ...] = ()
    each: str | None = None
    """Fan out: a path to an array (a task per element) or a whole number (a task per index), such as
    `plan.frames` (in the result of the one-part stage `plan`) or `spec.files`."""
    phase: JobStatus = JobStatus.PROCESSING
    attempts: int = 3
    backoff: Backoff = field(default_factory=Backoff)
    lease: float = 60.0
    stall_after: float | None = None
    """Seconds that a run may report no progress; None for `REEL_STALL_AFTER`."""
    stall_action: str = "recover"
    """What follows a stall: `recover` ends the run and makes the task ready, `flag` flags the job for an operator."""
    timeout: float | None = None
    needs: frozenset[str] = frozenset()
    prefers: frozenset[str] = frozenset()
    needs_from: str | None = None
    """Further needs that are known when the stage opens: a path as in `each` to an array of capability names."""
    wants_from: str | None = None
    """A path to needs that are dropped after `REEL_WANTS_GRACE` if no worker has them."""
    weight: float = 1.0
    required: bool = True
    max_lost: int = 3
    isolate_after: int = 2
    """The number of lost workers after which a task runs alone on a worker."""
    strict_lease: bool = False
    """Stop a run whose lease can't be renewed in time, even while the store is unreachable for every worker."""
    tags: tuple[str, ...] = ()
    """The tags under which each task reports states; a missing state counts as not started."""

    def document(self) -> dict[str, Any]:
        """Return the stage as JSON, equal for equal stages."""
        lists = {"needs": sorted(self.needs), "prefers": sorted(self.prefers), "tags": list(self.tags)}
        document = asdict(self) | lists
        unused = [name for name, default in LATER_OPTIONS.items() if document[name] == default]
        return {name: value for name, value in document.items() if name not in unused}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> StageSpec:
        """Read a stage from its document. Raises `SchemaMismatch` for options that this version does not know."""
        unknown = document.keys() - cls.__dataclass_fields__.keys()
        if unknown:
            raise SchemaMismatch(
                f"a stored pipeline has unknown options: {', '.join(sorted(unknown))}",
                hint="upgrade Reelstate on this machine",
            )
        sets = {name: frozenset(document[name]) for name in ("needs", "prefers")}
        return cls(
            **{
                **document,
                **sets,
                "after": tuple(document["after"]),
                "tags": tuple(document.get("tags", ())),
                "phase": JobStatus(document["phase"]),
                "backoff": Backoff(**document["backoff"]),
            }
        )


class ValuePath(NamedTuple):
    """The path of a value in a job's spec (`SPEC_SOURCE`) or in the result of a one-part stage."""

    source: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opening:
    """A stage to open, and where its parts come from: no source (one part), the spec, or a stage's result."""

    stage: int
    source: int | None
    path: tuple[str, ...]
    needs: ValuePath | None = None
    wants: ValuePath | None = None


@dataclass(frozen=True, slots=True)
class NextStages:
    """The stages to open, and the phase to show."""

    openings: tuple[Opening, ...]
    phase: JobStatus | None
    """The new phase of the job; None when every stage is closed."""


@dataclass(frozen=True)
class Graph:
    """A declared pipeline. Each of its stages comes after those it waits for."""

    name: str
    stages: tuple[StageSpec, ...]
    spec: Mapping[str, Any] | None = field(default=None, hash=False)
    """The JSON Schema of specs; `Engine.declare` checks it."""

    @classmethod
    def of(
        cls,
        name: str,
        stages: Iterable[StageSpec],
        *,
        built_in: bool = False,
        spec: Mapping[str, Any] | None = None,
    ) -> Graph:
        """Check a declaration and sort its stages. Raises `InvalidPipeline` with the path to the mistake."""
        check_name(name, built_in=built_in)
        given = tuple(
            replace(
                stage,
                needs=frozenset(stage.needs),
                prefers=frozenset(stage.prefers),
                after=tuple(stage.after),
                tags=tuple(sorted(set(stage.tags), key=str)),
            )
            for stage in stages
        )
        _check_names(name, given)
        for stage in given:
            _check_options(f"{name}.{stage.name}", stage)
        graph = cls(name, _sort(name, given), spec)
        for stage in graph.stages:
            graph._check_relations(stage)
        return graph

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the document, equal for equal graphs."""
        return hashlib.sha256(json.dumps(self.document(), sort_keys=True).encode()).hexdigest()

    @cached_property
    def index(self) -> dict[str, int]:
        """The numbers of stages by name."""
        return {stage.name: number for number, stage in enumerate(self.stages)}

    @cached_property
    def first(self) -> NextStages:
        """The stages that a new job opens, and the phase of its first claim."""
        return self.next(())

    @cached_property
    def first_phase(self) -> JobStatus:
        """The phase of a job's first claim."""
        return self.first.phase or JobStatus.PROCESSING

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The stages that no other waits for; their results are the outputs of a job."""
        awaited = {name for stage in self.stages for name in stage.after}
        return tuple(number for number, stage in enumerate(self.stages) if stage.name not in awaited)

    def next(self, closed: Collection[int], opened: Collection[int] = ()) -> NextStages:
        """Return the stages to open and the phase to show, given the closed and the opened stages."""
        key = frozenset(closed), frozenset(opened)
        if key not in self._cache:
            if len(self._cache) > MAX_CACHED:
                self._cache.clear()
            self._cache[key] = self._next(*key)
        return self._cache[key]

    @cached_property
    def _cache(self) -> dict[tuple[frozenset[int], frozenset[int]], NextStages]:
        return {}

    def _next(self, closed: frozenset[int], opened: frozenset[int]) -> NextStages:
        phases = [stage.phase for number, stage in enumerate(self.stages) if number not in closed]
        openings = (
            self.opening(number)
            for number in range(len(self.stages))
            if number not in closed
            and number not in opened
            and all(self.index[n] in closed for n in self.stages[number].after)
        )
        return NextStages(tuple(openings), min(phases, key=PHASES.index) if phases else None)

    def opening(self, number: int) -> Opening:
        """Return how to open a stage."""
        stage = self.stages[number]
        parts = self._value_path(stage.each)
        source, path = (None, ()) if parts is None else parts
        return Opening(number, source, path, self._value_path(stage.needs_from), self._value_path(stage.wants_from))

    def _value_path(self, path: str | None) -> ValuePath | None:
        if path is None:
            return None
        root, *rest = path.split(".")
        return ValuePath(SPEC_SOURCE if root == SPEC else self.index[root], tuple(rest))

    def downstream(self, number: int) -> tuple[int, ...]:
        """Return the stages that wait for this one, directly or not, in order."""
        reached = {number}
        for later, stage in enumerate(self.stages):
            if any(self.index[name] in reached for name in stage.after):
                reached.add(later)
        return tuple(sorted(reached - {number}))

    def document(self) -> dict[str, Any]:
        """Return the graph as JSON, equal for equal graphs."""
        document = {"name": self.name, "stages": [stage.document() for stage in self.stages]}
        return document if self.spec is None else {**document, "spec": self.spec}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Graph:
        """Read a graph from its document, which was checked when it was declared."""
        stages = tuple(StageSpec.from_document(stage) for stage in document["stages"])
        return cls(document["name"], stages, document.get("spec"))

    def _check_relations(self, stage: StageSpec) -> None:
        place = f"{self.name}.{stage.name}"
        for name in stage.after:
            if PHASES.index(self.stages[self.index[name]].phase) > PHASES.index(stage.phase):
                raise InvalidPipeline(
                    f"{place}.phase",
                    f"{stage.phase} comes before the phase of {name!r}, for which it waits",
                    hint="use the same phase or a later one",
                )
        for option in ("each", "needs_from", "wants_from"):
            path = getattr(stage, option)
            if path is not None:
                self._check_path(f"{place}.{option}", stage, path)

    def _check_path(self, place: str, stage: StageSpec, each: str) -> None:
        root, *path = each.split(".")
        if not all((root, *path)) or (root == SPEC and not path):
            raise InvalidPipeline(place, f"invalid path {each!r}", hint='expected "stage.field" or "spec.field"')
        if root == SPEC:
            return
        if root not in self.index or self.index[stage.name] not in self.downstream(self.index[root]):
            raise InvalidPipeline(
                place,
                f"{root!r} is not a stage before this one",
                hint=f"add after={root!r}, or start the path with spec",
            )
        if self.stages[self.index[root]].each is not None:
            raise InvalidPipeline(
                place,
                f"{root!r} has many parts and no single result",
                hint="name a one-part stage",
            )


def check_name(name: Any, *, built_in: bool = False) -> None:
    """Raise `InvalidPipeline` for an invalid or reserved name of a pipeline."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidPipeline(
            "name", f"invalid name {name!r}", hint="expected lower-case letters, digits, _ and -; at most 63"
        )
    if name in BUILT_IN and not built_in:
        raise InvalidPipeline("name", f"{name!r} is reserved for a built-in pipeline", hint="choose another name")


def _check_names(name: str, stages: tuple[StageSpec, ...]) -> None:
    if not stages:
        raise InvalidPipeline(name, "has no stages", hint="declare at least one stage")
    seen: set[str] = set()
    for stage in stages:
        place = f"{name}.{stage.name}"
        if not NAME.fullmatch(stage.name) or stage.name == SPEC:
            raise InvalidPipeline(
                place,
                f"invalid name {stage.name!r}",
                hint="expected a lower-case letter, then lower-case letters, digits, _ and -; not spec",
            )
        if stage.name in seen:
            raise InvalidPipeline(place, "another stage has this name", hint="rename one of them")
        seen.add(stage.name)


def _check_options(place: str, stage: StageSpec) -> None:
    def require(option: str, holds: bool, hint: str) -> None:
        if not holds:
            raise InvalidPipeline(
                f"{place}.{option}", f"invalid value {getattr(stage, option)!r}", hint=f"expected {hint}"
            )

    require("phase", stage.phase in PHASES, f"one of {', '.join(PHASES)}")
    for option in ("each", "needs_from", "wants_from"):
        path = getattr(stage, option)
        require(option, path is None or isinstance(path, str), 'a path such as "plan.frames"')
    for option in ("attempts", "max_lost", "isolate_after"):
        count = getattr(stage, option)
        counts = isinstance(count, int) and 1 <= count <= MAX_ATTEMPTS
        require(option, counts, f"a whole number from 1 to {MAX_ATTEMPTS}")
    require("lease", _between(1, stage.lease, MAX_LEASE), f"seconds, from 1 to {MAX_LEASE}")
    require("weight", _between(0, stage.weight, sys.float_info.max) and stage.weight > 0, "a number above 0")
    base, cap = stage.backoff.base, stage.backoff.cap
    in_range = _between(0, cap, MAX_TIMEOUT) and _between(0, base, cap)
    require("backoff", in_range, "base and cap in seconds, base not above cap, cap at most a year")
    for option in ("stall_after", "timeout"):
        seconds = getattr(stage, option)
        limited = seconds is None or (_between(0, seconds, MAX_TIMEOUT) and seconds > 0)
        require(option, limited, "seconds above 0, at most a year, or None for no limit")
    require("stall_action", stage.stall_action in STALL_ACTIONS, f"one of {', '.join(STALL_ACTIONS)}")
    timed = stage.stall_after is not None or stage.stall_action == "recover"
    require("stall_action", timed, "stall_after beside it, or REEL_STALL_ACTION for the deployment")
    for option in ("needs", "prefers"):
        names = getattr(stage, option)
        require(option, all(isinstance(name, str) and name for name in names), "a set of capability names")
    _check_tags(f"{place}.tags", stage)
    for option in ("required", "strict_lease"):
        require(option, isinstance(getattr(stage, option), bool), "True or False")


def _check_tags(place: str, stage: StageSpec) -> None:
    try:
        validate_job(StateJob(job_id=stage.name, tasks=1, tags=stage.tags))
    except InvalidRequest as error:
        raise InvalidPipeline(place, error.message.partition(": ")[2], hint=error.hint) from None


def _between(low: float, value: object, high: float) -> bool:
    return isinstance(value, int | float) and low <= value <= high


def _sort(name: str, stages: tuple[StageSpec, ...]) -> tuple[StageSpec, ...]:
    by_name = {stage.name: stage for stage in stages}
    ordered: dict[str, StageSpec] = {}

    def visit(stage: StageSpec, path: tuple[str, ...]) -> None:
        if stage.name in path:
            cycle = " → ".join((*path[path.index(stage.name) :], stage.name))
            raise InvalidPipeline(f"{name}.{stage.name}.after", f"waits for itself: {cycle}", hint="remove the cycle")
        for before in stage.after:
            if before not in by_name:
                known = ", ".join(sorted(by_name))
                raise InvalidPipeline(
                    f"{name}.{stage.name}.after", f"unknown stage {before!r}", hint=f"stages: {known}"
                )
            if before not in ordered:
                visit(by_name[before], (*path, stage.name))
        ordered[stage.name] = stage

    for stage in stages:
        if stage.name not in ordered:
            visit(stage, ())
    return tuple(ordered.values())
