"""A job as a page for people: its stages with bars, what runs where, its error and what to do next."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reelstate.cli.ladder import qualities_table
from reelstate.cli.terminal import age, bar, cut, moment, now, rough, share, span, status, table
from reelstate.core.aggregate import remaining_time
from reelstate.core.machine import ACTIVE_JOBS, STOPPED_JOBS, Actor, JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Json, PipelineVersion, Stage, Task, Worker
from reelstate.core.outcome import mask_passwords
from reelstate.media import TRANSCODE
from reelstate.media.planning.quality import Quality, QualityStatus
from reelstate.media.sources.address import source_name
from reelstate.services.catalogue import SHOWN_DIGEST

MAX_RUNNING = 10
LONGEST_VALUE = 2000
LONGEST_ABOUT = 60
MAX_STOPPED = 10
OVER = (TaskStatus.DONE, TaskStatus.SKIPPED)
UNHAPPY = (*STOPPED_JOBS, JobStatus.CANCELLED)


def job_page(
    detail: JobDetail,
    current: Sequence[Task],
    workers: Sequence[Worker],
    qualities: Sequence[Quality] = (),
    *,
    brief: bool = False,
) -> RenderableType:
    """A job with its tasks of the moment: those that run, and those that failed and will be tried again.

    In brief, stages that have not begun or are over are only named, and qualities that are not made are left out.
    """
    parts: list[RenderableType] = [_head(detail)]
    rungs = [each for each in qualities if not brief or each.status is not QualityStatus.SKIPPED]
    if rungs:
        parts += [Text(), _indented(qualities_table(rungs))]
    parts += [Text(), _indented(_open_stages(detail.stages) if brief else stage_table(detail.stages))]
    parts += [_indented(Text(words, style="yellow")) for words in (*flags(detail.job), *isolations(detail))]
    running = [task for task in current if task.status is TaskStatus.RUNNING]
    if running:
        parts += [Text(), _indented(_running_table(running))]
    resting = [task for task in current if task.run_after is not None and task.status is TaskStatus.ERROR]
    if resting:
        parts += [Text(), _indented(_resting_table(resting))]
    parts += _outcome(detail)
    if hint := advice(detail, workers):
        parts += [Text(), Text.assemble(("next: ", "dim"), hint)]
    return Group(*parts)


def _head(detail: JobDetail) -> RenderableType:
    job = detail.job
    subject = [f" · {words}"] if (words := about(job)) else []
    title = Text.assemble(f"job {job.id} ", (job.pipeline, "bold"), " ", status(job.status), *subject)
    facts = [f"priority {job.priority}", *([f"for {job.user_id}"] if job.user_id else [])]
    facts += [f"video {job.resource_id}"] if job.resource_id is not None else []
    facts += [f"submitted {moment(job.created_at)} ({age(job.created_at)})", *_timing(detail)]
    line = Table.grid(padding=(0, 1))
    line.add_row(bar(detail.progress, job.status, 40), share(detail.progress))
    return Group(title, Text(" · ".join(facts), style="dim"), Text(), line)


def _timing(detail: JobDetail) -> list[str]:
    job = detail.job
    if job.started_at and job.finished_at:
        return [f"took {span((job.finished_at - job.started_at).total_seconds())}"]
    if job.started_at:
        left = time_left(detail)
        return [f"running for {span((now() - job.started_at).total_seconds())}", *([left] if left else [])]
    if job.status is JobStatus.PENDING and job.run_after and job.run_after > now():
        return [f"starts in {span((job.run_after - now()).total_seconds())}"]
    return []


def time_left(detail: JobDetail, at: datetime | None = None) -> str:
    """How much longer at the pace so far; empty while nobody can tell."""
    if detail.job.started_at is None or detail.job.status not in ACTIVE_JOBS:
        return ""
    if not any(stage.running for stage in detail.stages):
        return ""
    left = remaining_time(detail.progress, detail.job.started_at, at or now())
    return f"about {span(left.total_seconds())} left" if left is not None else ""


def stage_table(stages: Iterable[Stage]) -> Table:
    made = table("stage", "status", "", "", "done", "running", "failed", flexible=["stage"])
    for column in made.columns[3:]:
        column.justify = "right"
    for stage in stages:
        made.add_row(
            cut(stage.name),
            status(stage.status),
            bar(stage_percent(stage), stage.status),
            share(stage_percent(stage)),
            f"{stage.done + stage.skipped}/{stage.total}" if stage.total else "–",
            str(stage.running or "–"),
            Text(str(stage.failed or "–"), style="bold red" if stage.failed else ""),
        )
    return made


def flags(job: Job) -> list[str]:
    """What is flagged of a job, and since when."""
    if job.flagged is None:
        return []
    since = f" since {moment(job.flagged_at)} ({age(job.flagged_at)})" if job.flagged_at else ""
    return [f"flagged{since}: {job.flagged}"]


def isolations(detail: JobDetail) -> list[str]:
    """What is run alone, and therefore slowly, with the reason."""
    if detail.job.status not in ACTIVE_JOBS:
        return []
    return [f"{stage.name}: {_isolated(stage.isolated)}" for stage in detail.stages if stage.isolated]


def _isolated(count: int) -> str:
    if count == 1:
        return "1 task has lost its workers and runs alone on a worker"
    return f"{count} tasks have lost their workers; each runs alone on a worker"


def isolation(event: Event) -> str:
    """What an event tells of a task that runs alone from now on; empty where it tells nothing."""
    if not isinstance(event.data, dict) or not event.data.get("isolated"):
        return ""
    lost = event.data.get("lost")
    return f"it has lost {lost} worker{'' if lost == 1 else 's'} and runs alone on one from now on"


def _open_stages(stages: Sequence[Stage]) -> RenderableType:
    """The stages at work as a table, the others as words."""
    over = [stage.name for stage in stages if stage.status in OVER]
    to_come = [stage.name for stage in stages if stage.status is TaskStatus.NEW]
    at_work = [stage for stage in stages if stage.name not in {*over, *to_come}]
    lines = [
        Text(f"{word}: {', '.join(names)}", style="dim")
        for word, names in (("done", over), ("to come", to_come))
        if names
    ]
    return Group(*([stage_table(at_work)] if at_work else []), *lines)


def stage_percent(stage: Stage) -> float:
    if not stage.total:
        return 100.0 if stage.status in {"done", "skipped"} else 0.0
    finished = stage.done + stage.skipped + (0 if stage.required else stage.failed)
    return min(100.0, (100.0 * finished + stage.running_percent) / stage.total)


def _running_table(running: Sequence[Task]) -> Table:
    made = table("running", "worker", "claim", "attempt", "", "message", flexible=["running", "worker", "message"])
    for task in running[:MAX_RUNNING]:
        words = ": ".join(word for word in (task.step, task.message) if word)
        where = task.worker or str(task.worker_id)
        attempt = f"{task.attempt}/{task.max_attempts}" + (" alone" if task.isolated else "")
        place = f"{task.stage_name}/{task.part}"
        made.add_row(cut(place), cut(where), task.claim_state, attempt, share(task.percent), cut(words))
    if len(running) > MAX_RUNNING:
        made.add_row("…", "", "", "", "", "only the first are shown")
    return made


def _resting_table(tasks: Sequence[Task]) -> Table:
    made = table("failed", "attempt", "again in", "error", flexible=["error"])
    for task in tasks[:MAX_STOPPED]:
        wait = (task.run_after - now()).total_seconds() if task.run_after else 0.0
        attempt = f"{task.attempt} of {task.max_attempts}"
        made.add_row(f"{task.stage_name}/{task.part}", attempt, span(max(0.0, wait)), cut(cause_line(task.error)))
    return made


def _outcome(detail: JobDetail) -> list[RenderableType]:
    job = detail.job
    parts: list[RenderableType] = []
    if job.status in UNHAPPY and job.error is not None:
        parts += [Text(), Text.assemble(("error: ", "bold red"), error_line(job.error))]
        parts += [Text(trace, style="dim") for trace in [traceback_in(job.error)] if trace]
    if job.status in UNHAPPY and job.reason and job.actor != Actor.ORCHESTRATOR:
        parts += [Text(), Text(f"{job.status} by {job.actor}: {job.reason}")]
    if job.degraded:
        parts += [Text(), Text("degraded:", style="yellow"), *(Text(f"  {line}") for line in degraded_lines(job))]
    if detail.outputs and job.resource_id is None:
        parts += [Text(), Text.assemble(("outputs: ", "green"), value(detail.outputs))]
    return parts


def degraded_lines(job: Job) -> list[str]:
    """What a completed job lacks, each with its reason."""
    found = job.degraded if isinstance(job.degraded, list) else [job.degraded]
    return [value(entry) for entry in found]


def error_line(error: Json) -> str:
    """An error as one sentence: where, and what the cause says."""
    if not isinstance(error, dict):
        return value(error)
    cause = error.get("cause", error)
    words = cause_line(cause)
    where = f"{error.get('stage')}/{error['part']}" if "part" in error else error.get("stage")
    return f"{where}: {words}" if where else str(words)


def traceback_in(error: Json) -> str:
    """Where in the code of a handler its error was raised."""
    cause = error.get("cause") if isinstance(error, dict) else None
    return str(cause.get("trace") or "") if isinstance(cause, dict) else ""


def cause_line(cause: Json) -> str:
    """What a handler raised: its name, unless that says nothing, and its words."""
    if not isinstance(cause, dict):
        return value(cause)
    words = cause.get("message") or value(cause)
    kind = cause.get("type")
    return str(words) if kind in {None, "Fail", "Retry", "lost", words} else f"{kind}: {words}"


def value(document: Json) -> str:
    """JSON as text of a bearable length."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} … (all of it with --json)"


def advice(detail: JobDetail, workers: Sequence[Worker]) -> str:
    """What a person may want to do now."""
    job = detail.job
    if job.status is JobStatus.FAILED:
        look = f"`reel logs {job.id}` shows what its tasks said, `reel steps {job.id} --failed` which commands failed"
        return f"{look}; `reel retry {job.id}` runs what is unfinished again"
    if job.status is JobStatus.QUARANTINED:
        return f"look at `reel history {job.id}`; then `reel retry {job.id}`, or `reel cancel {job.id}`"
    if job.flagged is not None:
        again = f"`reel force {job.id} pending --reason …` stops its runs and starts them again"
        return f"look at `reel logs {job.id}`; {again}, `reel cancel {job.id}` ends the job"
    if job.status in ACTIVE_JOBS:
        return _missing_worker(detail, workers)
    return ""


def _missing_worker(detail: JobDetail, workers: Sequence[Worker]) -> str:
    """Why nobody runs what is ready: no worker, none that takes work, or none that can do what a stage needs."""
    pipeline = detail.job.pipeline
    there = [worker for worker in workers if pipeline in worker.pipelines and worker.status is not WorkerStatus.OFFLINE]
    serving = [worker for worker in there if serves(worker, pipeline)]
    if there and not serving:
        name = there[0].name
        return f"worker {name} is {there[0].shown}: `reel workers enable {name}` lets it take work"
    if not serving:
        start = "reel up" if pipeline == TRANSCODE else "reel worker --app MODULE:NAME"
        return f"no worker for {pipeline} is running: start one with `{start}`"
    for stage in detail.stages:
        if stage.waits_for:
            needs = ",".join(stage.waits_for)
            return f"stage {stage.name} needs {needs}, and no worker has it: start one with `--capabilities {needs}`"
    return ""


def serves(worker: Worker, pipeline: str) -> bool:
    return worker.enabled and worker.status is WorkerStatus.ACTIVE and pipeline in worker.pipelines


def jobs_table(jobs: Sequence[Job]) -> Table:
    """Jobs, a line each; who for stands there only when somebody is named."""
    users = any(job.user_id for job in jobs)
    heads = ("job", "pipeline", "status", "prio", *(["user"] if users else []), "age", "took", "what")
    made = table(*heads, flexible=["pipeline", "user", "what"])
    for job in jobs:
        made.add_row(
            str(job.id),
            cut(job.pipeline),
            status(job.status),
            str(job.priority),
            *([cut(job.user_id)] if users else []),
            rough((now() - job.created_at).total_seconds()),
            took(job),
            cut(" · ".join(filter(None, (about(job), what(job))))),
        )
    return made


def about(job: Job) -> str:
    """What tells a job from others of its pipeline: the film, or the beginning of its spec."""
    if job.pipeline == TRANSCODE and isinstance(job.spec, dict) and "source" in job.spec:
        return source_name(str(job.spec["source"]))
    fields = job.spec.items() if isinstance(job.spec, dict) else [("spec", job.spec)] if job.spec else []
    text = mask_passwords(" ".join(f"{name}={value(field)}" for name, field in fields))
    return text if len(text) <= LONGEST_ABOUT else f"{text[: LONGEST_ABOUT - 1]}…"


def took(job: Job) -> str:
    """How long it has been at work."""
    if job.started_at is None:
        return ""
    return rough(((job.finished_at or now()) - job.started_at).total_seconds())


def what(job: Job) -> str:
    """What there is to say of how it ended, or why an operator should look at it."""
    if job.status is JobStatus.COMPLETED:
        return f"degraded: {'; '.join(degraded_lines(job))}" if job.degraded else ""
    if job.status in ACTIVE_JOBS:
        return "" if job.flagged is None else f"flagged: {job.flagged}"
    return error_line(job.error) if job.error is not None else job.reason or ""


def workers_table(workers: Sequence[Worker]) -> Table:
    heads = ("worker", "status", "host", "running", "done", "failed", "last seen", "tasks", "pipelines", "capabilities")
    made = table(*heads, flexible=["host", "tasks", "pipelines", "capabilities"])
    for column in made.columns[3:6]:
        column.justify = "right"
    for worker in workers:
        made.add_row(
            worker.name,
            status(worker.shown),
            cut(worker.hostname),
            f"{worker.running}/{worker.slots}" + (f" ({worker.stuck} stuck)" if worker.stuck else ""),
            str(worker.done),
            str(worker.failed),
            age(worker.last_heartbeat_at or worker.registered_at),
            cut(" ".join(worker.tasks)),
            cut(" ".join(sorted(worker.pipelines))),
            cut(_capabilities(worker.capabilities)),
        )
    return made


def pipelines_table(versions: Sequence[PipelineVersion]) -> Table:
    made = table(
        "pipeline", "version", "new jobs", "first declared", "workers", "stages", flexible=["workers", "stages"]
    )
    for version in versions:
        chosen = "pinned" if version.pinned else "newest" if version.current else ""
        made.add_row(
            version.name,
            version.digest[:SHOWN_DIGEST],
            chosen,
            age(version.declared_at),
            cut(" ".join(version.workers)),
            cut(" ".join(version.stages)),
        )
    return made


def _capabilities(names: Collection[str]) -> str:
    """What a worker can do; its encoders are counted, as any ffmpeg has a hundred."""
    encoders = [name for name in names if name.startswith("encoder:")]
    others = sorted({*names} - {*encoders})
    return " ".join(others if not encoders else [*others, f"{len(encoders)} encoders"])


def _indented(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 0, 2))
