"""`Pipeline`: a graph declared by decorating the functions that run its stages.

Each decorator checks all stages declared so far, so that a mistake is reported at its line.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar, overload

from reelstate.core.errors import InvalidPipeline
from reelstate.core.limit import Limit
from reelstate.core.machine import PHASES, JobStatus, Phase
from reelstate.core.pipeline import Graph, StageSpec, StallAction, check_name
from reelstate.core.policy import Backoff
from reelstate.pipelines.spec_schema import SpecType, schema_of

Handler = Callable[[Any], Any]
H = TypeVar("H", bound=Handler)
Check = Callable[[Any], object]
"""Checks a spec before a job is created; raises `ValueError` to refuse it."""
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
        """Declare a pipeline without stages.

        `spec` is the type of its specs: a dataclass, a TypedDict, a pydantic model or a JSON Schema. The schema is
        stored with the graph, so a process without this code checks specs too. Handlers get the spec as submitted.
        `check` is for rules that a schema can't express: processes that declared the pipeline call it with each spec,
        and its `ValueError` refuses the spec. `built_in` permits the reserved names of built-in pipelines.
        """
        check_name(name, built_in=built_in)
        self.name = name
        self.schema = None if spec is None else schema_of(name, spec)
        """The JSON Schema of its specs."""
        self._built_in = built_in
        self.check = check
        self.limits: list[Limit] = []
        """The limits that come with it."""
        self._specs: list[StageSpec] = []
        self._handlers: dict[str, StageHandler] = {}

    def limit(
        self,
        name: str,
        *,
        stage: StageRef | None = None,
        per: str | None = None,
        running: int | None = None,
        starts: int | None = None,
        period: float | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        """Limit the tasks of the pipeline, or of a stage of it; the limit is named `PIPELINE.NAME`.

        `running` tasks may run at once, and `starts` tasks may start in any `period` of seconds: in all, or with `per`
        for each `user`, `job` or value such as `spec.customer`. What an operator sets under that name takes precedence.
        Raises `InvalidRequest`.

        ```python
        thumbs.limit("customers", per="spec.customer", running=4)
        ```
        """
        limit = Limit(
            f"{self.name}.{name}",
            pipeline=self.name,
            stage=None if stage is None else stage_name(stage),
            per=per,
            running=running,
            starts=starts,
            period=period,
            weights=dict(weights or {}),
        )
        limit.check()
        self.limits.append(limit)

    def __repr__(self) -> str:
        return f"Pipeline({self.name!r}: {', '.join(self._handlers) or 'no stages'})"

    @property
    def graph(self) -> Graph:
        """The pipeline as data, as it is stored."""
        return Graph.of(self.name, self._specs, built_in=self._built_in, spec=self.schema)

    @property
    def handlers(self) -> Mapping[str, StageHandler]:
        """The functions that run the stages, by name."""
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
        """Make the decorated function a stage; the options are the fields of `StageSpec`, and `process`.

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
        spec = StageSpec(name=name, **self._stage_options(place, options))
        self._check_known(place, spec)
        Graph.of(self.name, [*self._specs, spec], built_in=self._built_in)
        self._specs.append(spec)
        self._handlers[name] = StageHandler(handler, style)
        if name != getattr(handler, "__name__", None):
            setattr(handler, _STAGE, name)
        return handler

    def _stage_options(self, place: str, options: dict[str, Any]) -> dict[str, Any]:
        """Convert the options of a decorator to fields of `StageSpec`."""
        unknown = options.keys() - StageSpec.__dataclass_fields__.keys()
        if unknown:
            known = ", ".join(sorted({*StageSpec.__dataclass_fields__, "process"}))
            raise InvalidPipeline(f"{place}.{min(unknown)}", "unknown option", hint=f"options: {known}")
        if "after" in options:
            options["after"] = tuple(self._name_of(place, stage) for stage in _as_list(options["after"]))
        if "phase" in options:
            options["phase"] = _phase(place, options["phase"])
        for option in ("needs", "prefers"):
            if option in options:
                options[option] = _text_set(f"{place}.{option}", options[option])
        if "tags" in options:
            tags = _text_set(
                f"{place}.tags", options["tags"], hint='expected a list of tags, for example ["ingest", "export"]'
            )
            options["tags"] = tuple(tags)
        backoff = options.get("backoff")
        if isinstance(backoff, int | float):
            options["backoff"] = Backoff(backoff, max(backoff, Backoff().cap))
        return options

    def _name_of(self, place: str, stage: StageRef) -> str:
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
                f"unknown stage {missing[0]!r}",
                hint=f"declared above: {declared}; declare a stage after those it waits for",
            )


def stage_name(stage: StageRef) -> str:
    """Return the name of a stage, given the name or the function that runs it."""
    return stage if isinstance(stage, str) else str(getattr(stage, _STAGE, None) or getattr(stage, "__name__", stage))


def _style(place: str, handler: Handler, *, process: bool) -> Style:
    if not callable(handler):
        raise InvalidPipeline(place, f"{handler!r} is not a function", hint="decorate a function that takes the task")
    if not _takes_one(handler):
        raise InvalidPipeline(place, "does not take exactly one argument", hint="expected def stage(task): …")
    if not process:
        return Style.ASYNC if inspect.iscoroutinefunction(handler) else Style.THREAD
    if "<" in getattr(handler, "__qualname__", "<"):
        raise InvalidPipeline(
            f"{place}.process",
            "a new process can't import it",
            hint="define it at the top of a module, not inside a function",
        )
    return Style.PROCESS


def _takes_one(handler: Handler) -> bool:
    try:
        inspect.signature(handler).bind(None)
    except TypeError:
        return False
    except ValueError:  # a function written in C has no signature
        return True
    return True


def _as_list(stages: StageRef | Iterable[StageRef]) -> Iterable[StageRef]:
    return (stages,) if isinstance(stages, str) or callable(stages) else stages


def _phase(place: str, phase: str) -> JobStatus:
    if phase not in PHASES:
        raise InvalidPipeline(f"{place}.phase", f"invalid value {phase!r}", hint=f"expected one of {', '.join(PHASES)}")
    return JobStatus(phase)


def _text_set(place: str, texts: Iterable[str], hint: str = "expected a set of capability names") -> frozenset[str]:
    try:
        return frozenset({texts} if isinstance(texts, str) else texts)
    except TypeError:
        raise InvalidPipeline(place, f"invalid value {texts!r}", hint=hint) from None
