"""states: the states of the tasks of a job by stage, and the lowest, which stands for all.

A stage is a job of the state manager under the name `job.stage`; its parts are the tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

from reelstate.core.errors import InvalidRequest, NotFound
from reelstate.core.model import JobDetail
from reelstate.core.month import Month
from reelstate.core.state import State, StateJob, aggregate, lowest, stage_job
from reelstate.services.catalogue import Catalogue
from reelstate.services.observe import observe_job, observe_tags
from reelstate.states.sql import ArchivedStates
from reelstate.states.state_store import StateStore
from reelstate.stores.store import Store

StateReader = StateStore | ArchivedStates


@dataclass(frozen=True, slots=True)
class StatesGrid:
    """The states of one stage, or of any job of the state manager: tasks × tags."""

    name: str
    """The name of the stage; the whole id for a job that is not of the engine."""
    job: StateJob
    states: tuple[State, ...]
    """By task and tag, as far as they were written."""

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(sorted({*self.job.tags, *(state.tag for state in self.states)}))

    @property
    def lowest(self) -> State:
        """The lowest state, which stands for all."""
        return aggregate(self.job, self.states)


@dataclass(frozen=True, slots=True)
class States:
    """The grids of a job, in the order of its stages: of stages that have states or declare tags."""

    stages: tuple[StatesGrid, ...]

    @property
    def lowest(self) -> State | None:
        """The lowest state of the job; None where no stage has a grid."""
        return lowest([grid.lowest for grid in self.stages]) if self.stages else None


async def states(
    store: Store,
    catalogue: Catalogue,
    state_store: StateStore,
    job_id: int | str,
    stage: str | None = None,
    owner: str | None = None,
) -> States:
    """Return the states of a job of the engine by its id, or of any job of the state manager by its name.

    With `owner`, raise `NotFound` for the jobs of other users and for jobs that are not of the engine.
    """
    if owner is not None and not str(job_id).isdecimal():
        raise NotFound("job", job_id)
    if not isinstance(job_id, int) and not job_id.isdecimal():
        if stage is not None:
            raise InvalidRequest("stage", f"{job_id!r} is the name of one stage", hint="use the id of the job")
        return States((await _read_grid(state_store, job_id, await state_store.find_job(job_id)),))
    detail = await observe_job(store, catalogue, int(job_id), owner)
    month = Month.of_id(detail.job.id)
    reader = ArchivedStates(store, month) if detail.job.archived and month else state_store
    names = [found.name for found in detail.stages]
    if stage is not None and stage not in names:
        raise InvalidRequest("stage", f"no stage {stage!r}", hint=f"stages: {', '.join(names)}")
    expected = await observe_tags(store, catalogue, int(job_id))
    jobs = [await _find_job(reader, detail, name, expected[name]) for name in names if stage in (None, name)]
    return States(tuple([await _read_grid(reader, name, job) for name, job in jobs if job is not None]))


async def _find_job(
    reader: StateReader, detail: JobDetail, name: str, tags: tuple[str, ...]
) -> tuple[str, StateJob | None]:
    """Return the stored job of a stage; where there is none and the stage declares tags, the job as it will be."""
    (found,) = [stage for stage in detail.stages if stage.name == name]
    job_id = stage_job(detail.job.id, name)
    try:
        return name, await reader.find_job(job_id)
    except NotFound:
        return name, StateJob(job_id=job_id, tasks=max(1, found.total), tags=tags) if tags else None


async def _read_grid(reader: StateReader, name: str, job: StateJob) -> StatesGrid:
    try:
        _, found = await reader.states(job.job_id)
    except NotFound:  # not written yet
        found = ()
    return StatesGrid(name, job, tuple(sorted(found, key=lambda state: state.key)))
