"""The pipelines this process knows: those it declares by name, and any that a stored job was submitted with.

A graph under a name is a version, identified by its digest. New jobs run the current version: the one that an operator
has pinned, else the one that was declared for the first time most recently. Who declares an old version again does not
make it current, and a process that only submits needs no code of the pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reelstate.core.document import encode
from reelstate.core.errors import CorruptState, InvalidRequest, UnknownPipeline
from reelstate.core.model import Json
from reelstate.core.pipeline import NAME, Graph, StageSpec
from reelstate.pipelines.declaration import Check
from reelstate.pipelines.spec_schema import SpecSchema, check_schema
from reelstate.stores.store import Store, Transaction

logger = logging.getLogger("reelstate.pipelines")
GRAPH_LIMIT = 1024 * 1024
SHOWN_DIGEST = 12
"""Characters of a digest that people read."""
SHORTEST_DIGEST = 6
MAX_JOBS = 10_000
"""Jobs whose names of stages are remembered."""
Wanted = tuple[str, str | None]
"""A pipeline's name, and the beginning of a digest; None for the current version."""


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A graph as stored: its row, and the lane of each of its stages. There is one for each row: `is` is equality."""

    id: int
    graph: Graph
    lanes: tuple[int, ...]


class Catalogue:
    """Graphs are immutable once stored, so what is known here never goes out of date."""

    def __init__(self) -> None:
        self._own: dict[str, Check | None] = {}
        self._by_id: dict[int, Declared] = {}
        self._found: dict[Wanted, Declared] = {}
        self._unreadable: dict[int, str] = {}
        self._schemas: dict[int, SpecSchema] = {}
        self._stages_of: dict[int, tuple[str, ...]] = {}

    @property
    def names(self) -> list[str]:
        """The pipelines that this process itself declares."""
        return sorted(self._own)

    def named(self, name: str, digest: str | None = None) -> Declared:
        """The version that new jobs of this name run, or the one of this digest, as it was last found."""
        found = self._found.get((name, digest))
        if found is None:
            raise UnknownPipeline(name, self.names)
        return found

    def require(self, declared: Declared, spec: Json) -> None:
        """Raise `InvalidRequest` for a spec that the version can't run with.

        The schema is that of the version. The `check` is that of this process, whichever version the job runs: a
        process without the code has none.
        """
        if declared.graph.spec is not None:
            self._schema(declared.id, declared.graph.spec).check(spec)
        check = self._own.get(declared.graph.name)
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

    async def find(self, store: Store, wanted: Iterable[Wanted]) -> None:
        """Look up the versions that were never looked up here; `submit` notices when one is no longer current."""
        missing = set(wanted) - self._found.keys()
        if missing:
            await self.look(store, missing)

    async def look(self, store: Store, wanted: Iterable[Wanted]) -> None:
        """Look up versions, though they were found before: another may be current since."""
        given = set(wanted)
        for each in given:
            self._found.pop(each, None)  # what is current now may be unreadable
        self._found |= await store.read(lambda transaction: self._versions(transaction, given))

    async def _versions(self, transaction: Transaction, wanted: set[Wanted]) -> dict[Wanted, Declared]:
        names = {name for name, _ in wanted}
        current: dict[str, int] = dict(
            await transaction.run("declare_current", names=sorted(filter(NAME.fullmatch, names)))
        )
        unknown = sorted(names - current.keys())
        if unknown:
            stored = {row[0] for row in await transaction.run("declare_names")}
            raise UnknownPipeline(unknown[0], sorted(stored | self._own.keys()))
        ids: dict[Wanted, int] = {}
        for name, digest in wanted:
            ids[name, digest] = current[name] if digest is None else await version_id(transaction, name, digest)
        declared = await self.known(transaction, ids.values())
        return {each: declared[pipeline_id] for each, pipeline_id in ids.items() if pipeline_id in declared}

    async def declare(self, store: Store, graph: Graph, check: Check | None = None) -> None:
        """Store a graph, unless it is stored already. A graph that was never stored is the newest of its name."""
        name = graph.name
        if graph.spec is not None:
            check_schema(f"{name}.spec", graph.spec)

        async def flow(transaction: Transaction) -> tuple[Declared, int | None, Declared | None]:
            found = await transaction.run("declare_current", names=[name])
            before = int(found[0][1]) if found else None
            declared = await _store_graph(transaction, graph)
            ((_, current),) = await transaction.run("declare_current", names=[name])
            if current == declared.id:
                return declared, before, declared
            return declared, before, (await self.known(transaction, [current])).get(current)

        declared, before, current = await store.write(flow)
        self._by_id[declared.id] = declared
        self._own[name] = check
        self._found.pop((name, None), None)
        if current is not None:
            self._found[name, None] = current
        _log_version(declared, before, current)

    def has(self, pipeline_id: int, stage: int) -> bool:
        """Whether this process has loaded a stored pipeline, and it has such a stage."""
        declared = self._by_id.get(pipeline_id)
        return declared is not None and 0 <= stage < len(declared.graph.stages)

    def graph(self, pipeline_id: int) -> Graph:
        """The graph of a pipeline that is loaded."""
        return self._by_id[pipeline_id].graph

    async def known(self, transaction: Transaction, pipeline_ids: Iterable[int]) -> dict[int, Declared]:
        """The graphs of these pipelines. One that is missing or unreadable is logged once and left out."""
        wanted = set(pipeline_ids)
        missing = wanted - self._by_id.keys()
        if missing:
            await self._load(transaction, missing)
        return {pipeline_id: self._by_id[pipeline_id] for pipeline_id in wanted & self._by_id.keys()}

    async def stages_of(self, transaction: Transaction, job_ids: Iterable[int]) -> Mapping[int, tuple[str, ...]]:
        """The names of the stages of these jobs, and perhaps of others. A job that is unknown is left out."""
        if len(self._stages_of) > MAX_JOBS:
            self._stages_of.clear()
        missing = set(job_ids) - self._stages_of.keys()
        if missing:
            rows = await transaction.run("observe_pipelines", job_ids=sorted(missing))
            known = await self.known(transaction, {pipeline_id for _, pipeline_id in rows})
            self._stages_of |= {job_id: tuple(known[number].graph.index) for job_id, number in rows if number in known}
        return self._stages_of

    async def one(self, transaction: Transaction, pipeline_id: int) -> Declared:
        """The graph of one pipeline; raises `CorruptState` where it is missing or unreadable."""
        found = await self.known(transaction, [pipeline_id])
        if pipeline_id not in found:
            raise unreadable(pipeline_id)
        return found[pipeline_id]

    async def _load(self, transaction: Transaction, pipeline_ids: Iterable[int]) -> None:
        """Read graphs and their lanes. Nothing is written here: it happens inside reads, too."""
        rows = await transaction.run("declare_known", pipeline_ids=sorted(pipeline_ids))
        faults = dict.fromkeys(pipeline_ids, "it is not stored")
        graphs: dict[int, Graph] = {}
        for pipeline_id, document in rows:
            try:
                graphs[pipeline_id] = Graph.from_document(document)
            except Exception as error:  # noqa: BLE001 - whatever is stored there, other pipelines must be loaded
                faults[pipeline_id] = f"its graph can't be read: {error!r}"
        names = sorted({graph.name for graph in graphs.values()})
        lanes = {
            (pipeline, frozenset(needs), frozenset(prefers)): lane
            for pipeline, lane, needs, prefers in await transaction.run("declare_lanes", names=names)
        }
        for pipeline_id, graph in graphs.items():
            numbers = [lanes.get((graph.name, stage.needs, stage.prefers)) for stage in graph.stages]
            if None in numbers:
                faults[pipeline_id] = "a lane of it is not stored"
                continue
            faults.pop(pipeline_id)
            self._by_id[pipeline_id] = Declared(pipeline_id, graph, tuple(filter(None, numbers)))
        self._report(faults)

    def _report(self, faults: Mapping[int, str]) -> None:
        for pipeline_id, fault in faults.items():
            if self._unreadable.get(pipeline_id) != fault:
                logger.error(
                    "pipeline %d is unreadable, its jobs are left alone: %s; run `reel doctor`", pipeline_id, fault
                )
            self._unreadable[pipeline_id] = fault


def unreadable(pipeline_id: int) -> CorruptState:
    return CorruptState(f"pipeline {pipeline_id} is missing or unreadable", hint="run `reel doctor`")


async def _store_graph(transaction: Transaction, graph: Graph) -> Declared:
    text = encode("pipeline", graph.document(), GRAPH_LIMIT)
    identity = {"name": graph.name, "digest": graph.digest}
    ((pipeline_id,),) = await transaction.run("declare_pipeline", graph=text, **identity)
    return Declared(pipeline_id, graph, await _lanes(transaction, graph))


async def _lanes(transaction: Transaction, graph: Graph) -> tuple[int, ...]:
    numbers: dict[tuple[frozenset[str], frozenset[str]], int] = {}
    for stage in graph.stages:
        if (stage.needs, stage.prefers) not in numbers:
            numbers[stage.needs, stage.prefers] = await _lane(transaction, graph.name, stage.needs, stage)
    return tuple(numbers[stage.needs, stage.prefers] for stage in graph.stages)


async def lane_for(transaction: Transaction, pipeline: str, needs: frozenset[str], stage: StageSpec) -> int:
    """The lane of tasks with these needs and the preferences of a stage; it is made where there is none yet."""
    for _, lane, known, prefers in await transaction.run("declare_lanes", names=[pipeline]):
        if frozenset(known) == needs and frozenset(prefers) == stage.prefers:
            return int(lane)
    return await _lane(transaction, pipeline, needs, stage)


async def _lane(transaction: Transaction, pipeline: str, needs: frozenset[str], stage: StageSpec) -> int:
    ((lane,),) = await transaction.run(
        "declare_lane", pipeline=pipeline, needs=sorted(needs), prefers=sorted(stage.prefers)
    )
    return int(lane)


async def version_id(transaction: Transaction, name: str, digest: str) -> int:
    """The stored version whose digest begins so. Raises `InvalidRequest` where there is none, or more than one."""
    rows = await transaction.run("declare_versions", names=[name])
    found = [row[1] for row in rows if len(digest) >= SHORTEST_DIGEST and row[2].startswith(digest)]
    if len(found) == 1:
        return int(found[0])
    known = ", ".join(row[2][:SHOWN_DIGEST] for row in rows) or "none"
    raise InvalidRequest(
        "digest",
        f"{digest!r} is not the digest of {'one version' if found else 'a version'} of {name}",
        hint=f"at least {SHORTEST_DIGEST} characters of one of: {known}; `reel pipelines` lists them",
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
