"""`Pipeline`: a graph declared by decorating the functions that run its stages.

Each decorator checks the whole of what is declared so far, so a mistake is reported where it is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar, overload

from reelstate.core.errors import InvalidPipeline
from reelstate.core.machine import PHASES, JobStatus, Phase
from reelstate.core.pipeline import Graph, StageSpec, StallAction, check_name
from reelstate.core.policy import Backoff
from reelstate.pipelines.spec_schema import SpecType, schema_of

Handler = Callable[[Any], Any]
H = TypeVar("H", bound=Handler)
Check = Callable[[Any], object]
"""Looks at a spec before a job is made of it, and raises what is wrong with it."""
StageRef = str | Handler
"""A stage, by its name or by the function that runs it."""
_STAGE = "__reelstate_stage__"


class Style(StrEnum):
    """Where a handler runs."""

    ASYNC = "async"
    THREAD = "thread"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class StageHandler:
    """The function that runs a stage, and where."""

    call: Handler
    style: Style


class Pipeline:
    """A named graph of stages and the functions that run them.

    ```python
    thumbs = rs.Pipeline("thumbs")

    @thumbs.stage
    def plan(task): return {"frames": [1, 5, 9]}

    @thumbs.stage(after=plan, each="plan.frames", attempts=5)
    async def grab(task): return {"file": f"{task.input}.jpg"}
    ```
    """

    def __init__(
        self, name: str, *, spec: SpecType | None = None, check: Check | None = None, built_in: bool = False
    ) -> None:
        """`spec` describes the specs of its jobs: a dataclass, a TypedDict, a pydantic model or a JSON Schema.

        The schema is stored with the graph, and whoever submits a job has the spec checked by it, with or without this
        code. Handlers get the spec as it was submitted. `check` is for what a schema can't say: it is called with the
        spec in processes that have declared the pipeline, and its `ValueError` refuses the spec. `built_in` is for the
        pipelines that Reelstate brings: their names are reserved.
        """
        check_name(name, built_in=built_in)
        self.name = name
        self.schema = None if spec is None else schema_of(name, spec)
        """The JSON Schema of its specs."""
        self._built_in = built_in
        self.check = check
        self._specs: list[StageSpec] = []
        self._handlers: dict[str, StageHandler] = {}

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}: {', '.join(self._handlers) or 'no stages'})"

    @property
    def graph(self) -> Graph:
        """The pipeline as data: what is stored, and what jobs run."""
        return Graph.of(self.name, self._specs, built_in=self._built_in, spec=self.schema)

    @property
    def handlers(self) -> Mapping[str, StageHandler]:
        return MappingProxyType(self._handlers)

    @overload
    def stage(self, handler: H, /) -> H: ...

    @overload
    def stage(
        self,
        /,
        *,
        name: str | None = None,
        after: StageRef | Iterable[StageRef] = (),
        each: str | None = None,
        phase: Phase = JobStatus.PROCESSING,
        attempts: int = 3,
        backoff: Backoff | float = Backoff(),  # noqa: B008 - it is frozen
        lease: float = 60.0,
        stall_after: float | None = None,
        stall_action: StallAction = "recover",
        timeout: float | None = None,
        needs: Iterable[str] = (),
        prefers: Iterable[str] = (),
        needs_from: str | None = None,
        wants_from: str | None = None,
        weight: float = 1.0,
        required: bool = True,
        max_lost: int = 3,
        isolate_after: int = 2,
        strict_lease: bool = False,
        tags: Iterable[str] = (),
        process: bool = False,
    ) -> Callable[[H], H]: ...

    def stage(self, handler: Handler | None = None, /, **options: Any) -> Any:
        """Make the decorated function a stage; options are those of `StageSpec`, and `process`.

        `after` names the stages it waits for, by function or name. `process=True` runs each task in a process of its
        own; otherwise an `async def` runs on the event loop and a `def` in a thread.
        """
        if handler is not None:
            return self._add(handler, {})
        return lambda decorated: self._add(decorated, dict(options))

    def _add(self, handler: H, options: dict[str, Any]) -> H:
        name = options.pop("name", None) or getattr(handler, "__name__", "")
        place = f"{self.name}.{name}"
        style = _style(place, handler, process=options.pop("process", False))
        spec = StageSpec(name=name, **self._understood(place, options))
        self._check_known(place, spec)
        Graph.of(self.name, [*self._specs, spec], built_in=self._built_in)
        self._specs.append(spec)
        self._handlers[name] = StageHandler(handler, style)
        if name != getattr(handler, "__name__", None):
            setattr(handler, _STAGE, name)
        return handler

    def _understood(self, place: str, options: dict[str, Any]) -> dict[str, Any]:
        """The options as `StageSpec` has them, from the shorter forms that an author may write."""
        unknown = options.keys() - StageSpec.__dataclass_fields__.keys()
        if unknown:
            known = ", ".join(sorted({*StageSpec.__dataclass_fields__, "process"}))
            raise InvalidPipeline(f"{place}.{min(unknown)}", "there is no such option", hint=f"options: {known}")
        if "after" in options:
            options["after"] = tuple(self._named(place, stage) for stage in _several(options["after"]))
        if "phase" in options:
            options["phase"] = _phase(place, options["phase"])
        for option in ("needs", "prefers"):
            if option in options:
                options[option] = _words(f"{place}.{option}", options[option])
        if "tags" in options:
            tags = _words(f"{place}.tags", options["tags"], hint='a list of tags, for example ["ingest", "export"]')
            options["tags"] = tuple(tags)
        backoff = options.get("backoff")
        if isinstance(backoff, int | float):
            options["backoff"] = Backoff(backoff, max(backoff, Backoff().cap))
        return options

    def _named(self, place: str, stage: StageRef) -> str:
        if isinstance(stage, str):
            return stage
        for name, handler in self._handlers.items():
            if handler.call is stage:
                return name
        raise InvalidPipeline(
            f"{place}.after",
            f"{getattr(stage, '__name__', stage)!r} is not a stage of this pipeline",
            hint=f"decorate it with @{self.name}.stage, above this one",
        )

    def _check_known(self, place: str, spec: StageSpec) -> None:
        missing = [name for name in spec.after if name not in self._handlers and name != spec.name]
        if missing:
            declared = ", ".join(self._handlers) or "none"
            raise InvalidPipeline(
                f"{place}.after",
                f"there is no stage {missing[0]!r} above it",
                hint=f"declared so far: {declared}; a stage comes after those it waits for",
            )


def stage_name(stage: StageRef) -> str:
    """The name of a stage that is given by its name or by the function that runs it."""
    return stage if isinstance(stage, str) else str(getattr(stage, _STAGE, None) or getattr(stage, "__name__", stage))


def _style(place: str, handler: Handler, *, process: bool) -> Style:
    if not callable(handler):
        raise InvalidPipeline(place, f"{handler!r} can't be called", hint="decorate a function that takes the task")
    if not _takes_one(handler):
        raise InvalidPipeline(place, "it does not take exactly one argument", hint="write def stage(task): …")
    if not process:
        return Style.ASYNC if inspect.iscoroutinefunction(handler) else Style.THREAD
    if "<" in getattr(handler, "__qualname__", "<"):
        raise InvalidPipeline(
            f"{place}.process",
            "a new process can't find it",
            hint="define it at the top of a module, not inside a function",
        )
    return Style.PROCESS


def _takes_one(handler: Handler) -> bool:
    try:
        inspect.signature(handler).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function written in C may not tell
        return True
    return True


def _several(stages: StageRef | Iterable[StageRef]) -> Iterable[StageRef]:
    return (stages,) if isinstance(stages, str) or callable(stages) else stages


def _phase(place: str, phase: str) -> JobStatus:
    if phase not in PHASES:
        raise InvalidPipeline(f"{place}.phase", f"{phase!r} is no phase", hint=f"one of {', '.join(PHASES)}")
    return JobStatus(phase)


def _words(place: str, words: Iterable[str], hint: str = "a set of capability names") -> frozenset[str]:
    try:
        return frozenset({words} if isinstance(words, str) else words)
    except TypeError:
        raise InvalidPipeline(place, f"{words!r} can't be", hint=hint) from None
