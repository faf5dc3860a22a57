"""The pipelines this process knows: those it declares by name, and any that a stored job was submitted with.

A graph under a name is a version, identified by its digest. New jobs run the current version: the one that an operator
has pinned, else the one that was declared for the first time most recently. Declaring an old version again does not
make it current, and a process that only submits needs no code of the pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from reelstate.core.document import encode
from reelstate.core.errors import CorruptState, InvalidRequest, UnknownPipeline
from reelstate.core.model import Json
from reelstate.core.pipeline import NAME, Graph, StageSpec
from reelstate.pipelines.declaration import Check
from reelstate.pipelines.spec_schema import SpecSchema, check_schema
from reelstate.stores.store import NoRow, Statement, Store, Transaction

logger = logging.getLogger("reelstate.pipelines")
GRAPH_LIMIT = 1024 * 1024
SHOWN_DIGEST = 12
"""Characters of a digest that are shown."""
MIN_DIGEST = 6
MAX_JOBS = 10_000
"""Jobs whose stage names are remembered."""
VersionKey = tuple[str, str | None]
"""A pipeline's name, and the beginning of a digest; None for the current version."""


class PipelineRow(NamedTuple):
    """A version of a pipeline."""

    name: str
    id: int
    digest: str
    declared_at: datetime
    pinned: bool
    graph: Json


class _CurrentVersion(NamedTuple):
    name: str
    id: int


class _StoredGraph(NamedTuple):
    id: int
    graph: Json


class _Lane(NamedTuple):
    pipeline: str
    id: int
    needs: list[str]
    prefers: list[str]


class _Id(NamedTuple):
    id: int


class _Name(NamedTuple):
    name: str


class _JobPipeline(NamedTuple):
    id: int
    pipeline_id: int


VERSIONS = Statement("declare_versions", PipelineRow)
CURRENT_VERSIONS = Statement("declare_current", _CurrentVersion)
PIPELINE_NAMES = Statement("declare_names", _Name)
PIN_VERSION = Statement("declare_pin", NoRow)
GRAPHS = Statement("declare_known", _StoredGraph)
LANES = Statement("declare_lanes", _Lane)
ADD_PIPELINE = Statement("declare_pipeline", _Id)
ADD_LANE = Statement("declare_lane", _Id)
JOB_PIPELINES = Statement("observe_pipelines", _JobPipeline)


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A stored graph: its row, and the lane of each of its stages. There is one per row, so `is` compares them."""

    id: int
    graph: Graph
    lanes: tuple[int, ...]


class Catalogue:
    """The stored graphs that this process has read. A stored graph never changes, so none goes out of date."""

    def __init__(self) -> None:
        self._checks: dict[str, Check | None] = {}
        """Of the pipelines that this process declares."""
        self._by_id: dict[int, Declared] = {}
        self._found: dict[VersionKey, Declared] = {}
        self._faults: dict[int, str] = {}
        self._schemas: dict[int, SpecSchema] = {}
        self._stage_names: dict[int, tuple[str, ...]] = {}

    @property
    def names(self) -> list[str]:
        """The pipelines that this process itself declares."""
        return sorted(self._checks)

    def named(self, name: str, digest: str | None = None) -> Declared:
        """Return the version that new jobs of this name run, or the one of this digest, as it was last found."""
        found = self._found.get((name, digest))
        if found is None:
            raise UnknownPipeline(name, self.names)
        return found

    def get(self, pipeline_id: int) -> Declared | None:
        """Return a pipeline that this process has loaded."""
        return self._by_id.get(pipeline_id)

    def require_valid(self, declared: Declared, spec: Json) -> None:
        """Raise `InvalidRequest` for a spec that the version can't run with.

        The schema is that of the version. The `check` is that of this process, whichever version the job runs: a
        process without the code has none.
        """
        if declared.graph.spec is not None:
            self._schema(declared.id, declared.graph.spec).check(spec)
        check = self._checks.get(declared.graph.name)
        if check is None:
            return
        try:
            check(spec)
        except ValueError as error:
            raise InvalidRequest("spec", str(error), hint=f"see what {declared.graph.name} takes") from error

    def _schema(self, pipeline_id: int, schema: Mapping[str, Json]) -> SpecSchema:
        if pipeline_id not in self._schemas:
            try:
                check_schema("spec", schema)
            except InvalidRequest as error:
                raise CorruptState(
                    f"the schema of pipeline {pipeline_id} can't be used: {error.message}",
                    hint="declare the pipeline again with another schema",
                ) from error
            self._schemas[pipeline_id] = SpecSchema(schema)
        return self._schemas[pipeline_id]

    async def find(
        self, store: Store, wanted: Iterable[VersionKey], *, refresh: bool = False
    ) -> Mapping[VersionKey, Declared]:
        """Look up versions that were never looked up here, with `refresh` all of them; return what is known by now.

        An unreadable version is left out. Raises `UnknownPipeline`.
        """
        given = set(wanted)
        missing = given if refresh else given - self._found.keys()
        if missing:
            for each in missing:
                self._found.pop(each, None)  # the current version may be unreadable now
            self._found |= await store.read(lambda transaction: self._versions(transaction, missing))
        return self._found

    async def _versions(self, transaction: Transaction, wanted: set[VersionKey]) -> dict[VersionKey, Declared]:
        names = {name for name, _ in wanted}
        rows = await transaction.run(CURRENT_VERSIONS, names=sorted(filter(NAME.fullmatch, names)))
        current = {row.name: row.id for row in rows}
        unknown = sorted(names - current.keys())
        if unknown:
            stored = {row.name for row in await transaction.run(PIPELINE_NAMES)}
            raise UnknownPipeline(unknown[0], sorted(stored | self._checks.keys()))
        ids: dict[VersionKey, int] = {}
        for name, digest in wanted:
            ids[name, digest] = current[name] if digest is None else await version_id(transaction, name, digest)
        declared = await self.load(transaction, ids.values())
        return {each: declared[pipeline_id] for each, pipeline_id in ids.items() if pipeline_id in declared}

    async def declare(self, store: Store, graph: Graph, check: Check | None = None) -> None:
        """Store a graph, unless it is stored already. A graph that was never stored is the newest of its name."""
        name = graph.name
        if graph.spec is not None:
            check_schema(f"{name}.spec", graph.spec)

        async def flow(transaction: Transaction) -> tuple[Declared, int | None, Declared | None]:
            before = await transaction.run(CURRENT_VERSIONS, names=[name])
            text = encode("pipeline", graph.document(), GRAPH_LIMIT)
            (added,) = await transaction.run(ADD_PIPELINE, name=name, digest=graph.digest, graph=text)
            declared = Declared(added.id, graph, await _add_lanes(transaction, graph))
            (current,) = await transaction.run(CURRENT_VERSIONS, names=[name])
            loaded = {added.id: declared}
            if current.id != added.id:
                loaded = await self.load(transaction, [current.id])
            return declared, before[0].id if before else None, loaded.get(current.id)

        declared, before, current = await store.write(flow)
        self._by_id[declared.id] = declared
        self._checks[name] = check
        self._found.pop((name, None), None)
        if current is not None:
            self._found[name, None] = current
        _log_version(declared, before, current)

    async def load(self, transaction: Transaction, pipeline_ids: Iterable[int]) -> dict[int, Declared]:
        """Return the graphs of these pipelines. One that is missing or unreadable is logged once and left out."""
        wanted = set(pipeline_ids)
        missing = wanted - self._by_id.keys()
        if missing:
            await self._read_graphs(transaction, missing)
        return {pipeline_id: self._by_id[pipeline_id] for pipeline_id in wanted & self._by_id.keys()}

    async def load_one(self, transaction: Transaction, pipeline_id: int) -> Declared:
        """Return the graph of one pipeline. Raises `CorruptState` where it is missing or unreadable."""
        found = await self.load(transaction, [pipeline_id])
        if pipeline_id not in found:
            raise unreadable(pipeline_id)
        return found[pipeline_id]

    async def stages_of(self, transaction: Transaction, job_ids: Iterable[int]) -> Mapping[int, tuple[str, ...]]:
        """Return the stage names of these jobs, and perhaps of others. A job that is unknown is left out."""
        if len(self._stage_names) > MAX_JOBS:
            self._stage_names.clear()
        missing = set(job_ids) - self._stage_names.keys()
        if missing:
            rows = await transaction.run(JOB_PIPELINES, job_ids=sorted(missing))
            loaded = await self.load(transaction, {row.pipeline_id for row in rows})
            self._stage_names |= {
                row.id: tuple(loaded[row.pipeline_id].graph.index) for row in rows if row.pipeline_id in loaded
            }
        return self._stage_names

    async def _read_graphs(self, transaction: Transaction, pipeline_ids: Iterable[int]) -> None:
        """Read graphs and their lanes. It writes nothing, because reading transactions call it too."""
        faults = dict.fromkeys(pipeline_ids, "it is not stored")
        graphs: dict[int, Graph] = {}
        for row in await transaction.run(GRAPHS, pipeline_ids=sorted(pipeline_ids)):
            try:
                graphs[row.id] = Graph.from_document(row.graph)
            except Exception as error:  # noqa: BLE001 - whatever is stored there, other pipelines must be loaded
                faults[row.id] = f"its graph can't be read: {error!r}"
        names = sorted({graph.name for graph in graphs.values()})
        lanes = {
            (lane.pipeline, frozenset(lane.needs), frozenset(lane.prefers)): lane.id
            for lane in await transaction.run(LANES, names=names)
        }
        for pipeline_id, graph in graphs.items():
            numbers = [lanes.get((graph.name, stage.needs, stage.prefers)) for stage in graph.stages]
            if None in numbers:
                faults[pipeline_id] = "a lane of it is not stored"
                continue
            faults.pop(pipeline_id)
            self._by_id[pipeline_id] = Declared(pipeline_id, graph, tuple(filter(None, numbers)))
        for pipeline_id, fault in faults.items():
            if self._faults.get(pipeline_id) != fault:
                logger.error(
                    "pipeline unreadable, its jobs are left alone pipeline=%d fault=%r hint=run `reel doctor`",
                    pipeline_id,
                    fault,
                )
            self._faults[pipeline_id] = fault


def unreadable(pipeline_id: int) -> CorruptState:
    """Return the error for a pipeline that is missing or unreadable."""
    return CorruptState(f"pipeline {pipeline_id} is missing or unreadable", hint="run `reel doctor`")


async def _add_lanes(transaction: Transaction, graph: Graph) -> tuple[int, ...]:
    """Insert the lanes of a graph that are not stored yet; return the lane of each stage."""
    lanes: dict[tuple[frozenset[str], frozenset[str]], int] = {}
    for stage in graph.stages:
        if (stage.needs, stage.prefers) not in lanes:
            lanes[stage.needs, stage.prefers] = await _add_lane(transaction, graph.name, stage.needs, stage)
    return tuple(lanes[stage.needs, stage.prefers] for stage in graph.stages)


async def lane_for(transaction: Transaction, pipeline: str, needs: frozenset[str], stage: StageSpec) -> int:
    """Return the lane of tasks with these needs and the preferences of a stage; insert it if there is none yet."""
    for lane in await transaction.run(LANES, names=[pipeline]):
        if frozenset(lane.needs) == needs and frozenset(lane.prefers) == stage.prefers:
            return lane.id
    return await _add_lane(transaction, pipeline, needs, stage)


async def _add_lane(transaction: Transaction, pipeline: str, needs: frozenset[str], stage: StageSpec) -> int:
    (lane,) = await transaction.run(ADD_LANE, pipeline=pipeline, needs=sorted(needs), prefers=sorted(stage.prefers))
    return lane.id


async def version_id(transaction: Transaction, name: str, digest: str) -> int:
    """Return the id of the stored version whose digest begins with `digest`.

    Raises `InvalidRequest` where there is none, or more than one.
    """
    versions = await transaction.run(VERSIONS, names=[name])
    found = [row.id for row in versions if len(digest) >= MIN_DIGEST and row.digest.startswith(digest)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(row.digest[:SHOWN_DIGEST] for row in versions) or "none"
    raise InvalidRequest(
        "digest",
        f"{digest!r} is not the digest of {'one version' if found else 'a version'} of {name}",
        hint=f"at least {MIN_DIGEST} characters of one of: {known}; `reel pipelines` lists them",
    )


def _log_version(declared: Declared, before: int | None, current: Declared | None) -> None:
    name, digest = declared.graph.name, declared.graph.digest[:SHOWN_DIGEST]
    if current is not declared:
        newer = "unreadable" if current is None else current.graph.digest[:SHOWN_DIGEST]
        logger.warning(
            "pipeline version not current pipeline=%s digest=%s current=%s hint=`reel pipelines use %s %s` pins it",
            name, digest, newer, name, digest,
        )  # fmt: skip
    elif before is not None and before != declared.id:
        logger.info("pipeline version changed: new jobs run it pipeline=%s digest=%s", name, digest)
