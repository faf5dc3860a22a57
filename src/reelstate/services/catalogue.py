"""The pipelines this process knows: those it declares by name, and any that a stored job was submitted with.

A process that only submits needs no code of the pipeline: of a name that it does not declare itself, the graph that
any process declared last is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from reelstate.core.declaration import Check
from reelstate.core.document import encode
from reelstate.core.errors import CorruptState, InvalidRequest, UnknownPipeline
from reelstate.core.model import Json
from reelstate.core.pipeline import NAME, Graph, StageSpec
from reelstate.stores.store import Store, Transaction

GRAPH_LIMIT = 1024 * 1024


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A graph as stored: its row, and the lane of each of its stages. There is one for each row: `is` is equality."""

    id: int
    graph: Graph
    lanes: tuple[int, ...]
    check: Check | None = None
    """Of the process that declares it itself; one that only submits has no code of the pipeline."""

    def require(self, spec: Json) -> None:
        """Refuse a spec that the pipeline could do nothing with."""
        if self.check is None:
            return
        try:
            self.check(spec)
        except ValueError as error:
            raise InvalidRequest("spec", str(error), hint=f"see what {self.graph.name} takes") from error


class Catalogue:
    """Graphs are immutable once stored, so what is known here never goes out of date."""

    def __init__(self) -> None:
        self._by_name: dict[str, Declared] = {}
        self._by_id: dict[int, Declared] = {}
        self._found: dict[str, Declared] = {}

    @property
    def names(self) -> list[str]:
        """The pipelines that this process itself declares."""
        return sorted(self._by_name)

    def named(self, name: str) -> Declared:
        """The pipeline that new jobs of this name run."""
        found = self._by_name.get(name) or self._found.get(name)
        if found is None:
            raise UnknownPipeline(name, self.names)
        return found

    async def find(self, store: Store, names: Iterable[str]) -> None:
        """Look up what others declared under the names that this process does not; it may have changed since."""
        wanted = set(names) - self._by_name.keys()
        if wanted:
            self._found |= await store.read(lambda transaction: self._latest(transaction, wanted))

    async def _latest(self, transaction: Transaction, names: set[str]) -> dict[str, Declared]:
        latest: dict[str, int] = dict(
            await transaction.run("declare_latest", names=sorted(filter(NAME.fullmatch, names)))
        )
        unknown = sorted(names - latest.keys())
        if unknown:
            stored = {row[0] for row in await transaction.run("declare_names")}
            raise UnknownPipeline(unknown[0], sorted(stored | self._by_name.keys()))
        declared = await self.known(transaction, latest.values())
        return {name: declared[pipeline_id] for name, pipeline_id in latest.items()}

    async def declare(self, store: Store, graph: Graph, check: Check | None = None) -> Declared:
        """Store a graph, unless it is stored already, and use it for new jobs of its name."""
        stored = await store.write(lambda transaction: _store_graph(transaction, graph))
        declared = replace(stored, check=check)
        self._by_name[graph.name] = self._by_id[declared.id] = declared
        return declared

    def loaded(self, pipeline_id: int) -> bool:
        """Whether this process has met a stored pipeline before."""
        return pipeline_id in self._by_id

    def graph(self, pipeline_id: int) -> Graph:
        """The graph of a pipeline that is loaded."""
        return self._by_id[pipeline_id].graph

    async def known(self, transaction: Transaction, pipeline_ids: Iterable[int]) -> dict[int, Declared]:
        """The graphs that these jobs were submitted with."""
        wanted = set(pipeline_ids)
        missing = wanted - self._by_id.keys()
        if missing:
            await self._load(transaction, missing)
        lost = wanted - self._by_id.keys()
        if lost:
            raise CorruptState(f"jobs refer to pipelines that are not stored: {sorted(lost)}", hint="run `reel doctor`")
        return {pipeline_id: self._by_id[pipeline_id] for pipeline_id in wanted}

    async def _load(self, transaction: Transaction, pipeline_ids: Iterable[int]) -> None:
        """Read graphs and their lanes. Nothing is written here: it happens inside reads, too."""
        rows = await transaction.run("declare_known", pipeline_ids=sorted(pipeline_ids))
        graphs = {pipeline_id: Graph.from_document(document) for pipeline_id, document in rows}
        names = sorted({graph.name for graph in graphs.values()})
        lanes = {
            (pipeline, frozenset(needs), frozenset(prefers)): lane
            for pipeline, lane, needs, prefers in await transaction.run("declare_lanes", names=names)
        }
        for pipeline_id, graph in graphs.items():
            numbers = tuple(lanes[graph.name, stage.needs, stage.prefers] for stage in graph.stages)
            self._by_id[pipeline_id] = Declared(pipeline_id, graph, numbers)


async def _store_graph(transaction: Transaction, graph: Graph) -> Declared:
    text = encode("pipeline", graph.document(), GRAPH_LIMIT)
    identity = {"name": graph.name, "digest": graph.digest}
    ((pipeline_id,),) = await transaction.run("declare_pipeline", graph=text, **identity)
    return Declared(pipeline_id, graph, await _lanes(transaction, graph))


async def _lanes(transaction: Transaction, graph: Graph) -> tuple[int, ...]:
    numbers: dict[tuple[frozenset[str], frozenset[str]], int] = {}
    for stage in graph.stages:
        if (stage.needs, stage.prefers) not in numbers:
            numbers[stage.needs, stage.prefers] = await _lane(transaction, graph.name, stage)
    return tuple(numbers[stage.needs, stage.prefers] for stage in graph.stages)


async def _lane(transaction: Transaction, pipeline: str, stage: StageSpec) -> int:
    ((lane,),) = await transaction.run(
        "declare_lane", pipeline=pipeline, needs=sorted(stage.needs), prefers=sorted(stage.prefers)
    )
    return int(lane)
