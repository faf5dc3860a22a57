"""Render jobs, workers and pipelines as text and tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reelstate.cli.terminal import age, bar, cut, moment, now, rough, share, span, status, table
from reelstate.core.aggregate import remaining_time
from reelstate.core.machine import ACTIVE_JOBS, STOPPED_JOBS, Actor, JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import Event, Job, JobDetail, Json, PipelineVersion, Stage, Task, Worker
from reelstate.core.outcome import mask_passwords
from reelstate.core.why import Reason
from reelstate.media import TRANSCODE
from reelstate.media.planning.quality import Quality, QualityStatus
from reelstate.media.sources.address import source_name
from reelstate.services.catalogue import SHOWN_DIGEST

MAX_RUNNING = 10
MAX_VALUE_LENGTH = 2000
MAX_SUMMARY_LENGTH = 60
MAX_RETRYING = 10
MAX_REASONS = 10
DONE_STAGES = (TaskStatus.DONE, TaskStatus.SKIPPED)
UNSUCCESSFUL_JOBS = (*STOPPED_JOBS, JobStatus.CANCELLED)


def job_page(
    detail: JobDetail,
    current: Sequence[Task],
    workers: Sequence[Worker] | None,
    qualities: Sequence[Quality] = (),
    reasons: Sequence[Reason] = (),
    *,
    brief: bool = False,
) -> RenderableType:
    """Render a job with its stages, what it waits for, its running tasks, its tasks to be retried, and a hint.

    With `brief`, new and done stages are only listed by name, and skipped qualities are left out.
    """
    parts: list[RenderableType] = [_head(detail)]
    rungs = [each for each in qualities if not brief or each.status is not QualityStatus.SKIPPED]
    if rungs:
        parts += [Text(), _indented(qualities_table(rungs))]
    parts += [Text(), _indented(_open_stages(detail.stages) if brief else stage_table(detail.stages))]
    parts += [_indented(Text(line, style="yellow")) for line in (*flag_lines(detail.job), *isolation_lines(detail))]
    if reasons:
        parts += [Text(), *(Text.assemble(("waits for: ", "dim"), str(reason)) for reason in reasons[:MAX_REASONS])]
    running = [task for task in current if task.status is TaskStatus.RUNNING]
    if running:
        parts += [Text(), _indented(_running_table(running))]
    retrying = [task for task in current if task.run_after is not None and task.status is TaskStatus.ERROR]
    if retrying:
        parts += [Text(), _indented(_retrying_table(retrying))]
    parts += _outcome(detail)
    if hint := advice(detail, workers):
        parts += [Text(), Text.assemble(("next: ", "dim"), hint)]
    return Group(*parts)


def _head(detail: JobDetail) -> RenderableType:
    job = detail.job
    subject = [f" · {summary}"] if (summary := job_summary(job)) else []
    title = Text.assemble(f"job {job.id} ", (job.pipeline, "bold"), " ", status(job.status), *subject)
    facts = [f"priority {job.priority}", *([f"for {job.user_id}"] if job.user_id else [])]
    facts += [f"video {job.resource_id}"] if job.resource_id is not None else []
    facts += [f"group {job.group}"] if job.group is not None else []
    facts += ["archived, read-only"] if job.archived else []
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
    """Estimate the remaining time from the progress so far; empty if nothing runs."""
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


def flag_lines(job: Job) -> list[str]:
    """Return a line with why a job is flagged and since when, if it is."""
    if job.flagged is None:
        return []
    since = f" since {moment(job.flagged_at)} ({age(job.flagged_at)})" if job.flagged_at else ""
    return [f"flagged{since}: {job.flagged}"]


def isolation_lines(detail: JobDetail) -> list[str]:
    """Return a line for each stage with tasks that run alone on a worker."""
    if detail.job.status not in ACTIVE_JOBS:
        return []
    return [f"{stage.name}: {_isolation_text(stage.isolated)}" for stage in detail.stages if stage.isolated]


def _isolation_text(count: int) -> str:
    if count == 1:
        return "1 task has lost its workers and runs alone on a worker"
    return f"{count} tasks have lost their workers; each runs alone on a worker"


def isolation_note(event: Event) -> str:
    """Describe an event that isolates a task; empty for other events."""
    if not isinstance(event.data, dict) or not event.data.get("isolated"):
        return ""
    lost = event.data.get("lost")
    return f"it has lost {lost} worker{'' if lost == 1 else 's'} and runs alone on one from now on"


def _open_stages(stages: Sequence[Stage]) -> RenderableType:
    """Render stages in progress as a table, and list the names of the others."""
    done = [stage.name for stage in stages if stage.status in DONE_STAGES]
    new = [stage.name for stage in stages if stage.status is TaskStatus.NEW]
    open_stages = [stage for stage in stages if stage.name not in {*done, *new}]
    lines = [
        Text(f"{label}: {', '.join(names)}", style="dim")
        for label, names in (("done", done), ("not started", new))
        if names
    ]
    return Group(*([stage_table(open_stages)] if open_stages else []), *lines)


def stage_percent(stage: Stage) -> float:
    if not stage.total:
        return 100.0 if stage.status in {"done", "skipped"} else 0.0
    finished = stage.done + stage.skipped + (0 if stage.required else stage.failed)
    return min(100.0, (100.0 * finished + stage.running_percent) / stage.total)


def _running_table(running: Sequence[Task]) -> Table:
    made = table("running", "worker", "claim", "attempt", "", "message", flexible=["running", "worker", "message"])
    for task in running[:MAX_RUNNING]:
        message = ": ".join(filter(None, (task.step, task.message)))
        worker = task.worker or str(task.worker_id)
        attempt = f"{task.attempt}/{task.max_attempts}" + (" alone" if task.isolated else "")
        name = f"{task.stage_name}/{task.part}"
        made.add_row(cut(name), cut(worker), task.claim_state, attempt, share(task.percent), cut(message))
    if len(running) > MAX_RUNNING:
        made.add_row("…", "", "", "", "", f"{len(running) - MAX_RUNNING} more")
    return made


def _retrying_table(tasks: Sequence[Task]) -> Table:
    made = table("failed", "attempt", "retry in", "error", flexible=["error"])
    for task in tasks[:MAX_RETRYING]:
        wait = (task.run_after - now()).total_seconds() if task.run_after else 0.0
        attempt = f"{task.attempt} of {task.max_attempts}"
        made.add_row(f"{task.stage_name}/{task.part}", attempt, span(max(0.0, wait)), cut(cause_line(task.error)))
    return made


def _outcome(detail: JobDetail) -> list[RenderableType]:
    job = detail.job
    parts: list[RenderableType] = []
    if job.status in UNSUCCESSFUL_JOBS and job.error is not None:
        parts += [Text(), Text.assemble(("error: ", "bold red"), error_line(job.error))]
        parts += [Text(trace, style="dim") for trace in [traceback_in(job.error)] if trace]
    if job.status in UNSUCCESSFUL_JOBS and job.reason and job.actor != Actor.ORCHESTRATOR:
        parts += [Text(), Text(f"{job.status} by {job.actor}: {job.reason}")]
    if job.degraded:
        parts += [Text(), Text("degraded:", style="yellow"), *(Text(f"  {line}") for line in degraded_lines(job))]
    if detail.outputs and job.resource_id is None:
        parts += [Text(), Text.assemble(("outputs: ", "green"), value(detail.outputs))]
    return parts


def degraded_lines(job: Job) -> list[str]:
    """Return the reasons why a completed job is degraded."""
    reasons = job.degraded if isinstance(job.degraded, list) else [job.degraded]
    return [value(entry) for entry in reasons]


def error_line(error: Json) -> str:
    """Return an error as one line: the task or stage, and the cause."""
    if not isinstance(error, dict):
        return value(error)
    cause = error.get("cause", error)
    text = cause_line(cause)
    where = f"{error.get('stage')}/{error['part']}" if "part" in error else error.get("stage")
    return f"{where}: {text}" if where else text


def traceback_in(error: Json) -> str:
    """Return the traceback of a handler in an error; empty if there is none."""
    cause = error.get("cause") if isinstance(error, dict) else None
    return str(cause.get("trace") or "") if isinstance(cause, dict) else ""


def cause_line(cause: Json) -> str:
    """Return the message of an error of a handler, with its type unless that is generic."""
    if not isinstance(cause, dict):
        return value(cause)
    message = cause.get("message") or value(cause)
    kind = cause.get("type")
    return str(message) if kind in {None, "Fail", "Retry", "lost", message} else f"{kind}: {message}"


def value(document: Json) -> str:
    """Return JSON as text, cut to `MAX_VALUE_LENGTH` characters."""
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]} … (--json shows all)"


def advice(detail: JobDetail, workers: Sequence[Worker] | None) -> str:
    """Return a hint on what to do next; empty if there is nothing to do, or the workers are not known."""
    job = detail.job
    if job.status is JobStatus.FAILED:
        look = f"`reel logs {job.id}` shows the logs, `reel steps {job.id} --failed` the commands that failed"
        return f"{look}; `reel retry {job.id}` runs the unfinished tasks again"
    if job.status is JobStatus.QUARANTINED:
        return f"check `reel history {job.id}`; then `reel retry {job.id}` or `reel cancel {job.id}`"
    if job.flagged is not None:
        restart = f"`reel force {job.id} pending --reason …` restarts its tasks"
        return f"check `reel logs {job.id}`; {restart}, `reel cancel {job.id}` cancels the job"
    if job.status in ACTIVE_JOBS and workers is not None:
        return _missing_worker(detail, workers)
    return ""


def _missing_worker(detail: JobDetail, workers: Sequence[Worker]) -> str:
    """Return why no worker runs a ready task: none online, none enabled, or none with the capabilities."""
    pipeline = detail.job.pipeline
    online = [
        worker for worker in workers if pipeline in worker.pipelines and worker.status is not WorkerStatus.OFFLINE
    ]
    serving = [worker for worker in online if serves(worker, pipeline)]
    if online and not serving:
        name = online[0].name
        return f"worker {name} is {online[0].shown}: `reel workers enable {name}` enables it"
    if not serving:
        start = "reel up" if pipeline == TRANSCODE else "reel worker --app MODULE:NAME"
        return f"no worker for {pipeline} is running: start one with `{start}`"
    for stage in detail.stages:
        if stage.waits_for:
            needs = ",".join(stage.waits_for)
            return f"stage {stage.name} needs {needs}, which no worker has: start one with `--capabilities {needs}`"
    return ""


def serves(worker: Worker, pipeline: str) -> bool:
    return worker.enabled and worker.status is WorkerStatus.ACTIVE and pipeline in worker.pipelines


def jobs_table(jobs: Sequence[Job]) -> Table:
    """Render jobs as a table, with a column for users if a job has one."""
    users = any(job.user_id for job in jobs)
    heads = ("job", "pipeline", "status", "prio", *(["user"] if users else []), "age", "took", "details")
    made = table(*heads, flexible=["pipeline", "user", "details"])
    for job in jobs:
        made.add_row(
            str(job.id),
            cut(job.pipeline),
            status(job.status),
            str(job.priority),
            *([cut(job.user_id)] if users else []),
            rough((now() - job.created_at).total_seconds()),
            elapsed(job),
            cut(" · ".join(filter(None, (job_summary(job), job_note(job))))),
        )
    return made


def job_summary(job: Job) -> str:
    """Return what identifies a job: the name of its source, or the start of its spec."""
    if job.pipeline == TRANSCODE and isinstance(job.spec, dict) and "source" in job.spec:
        return source_name(str(job.spec["source"]))
    fields = job.spec.items() if isinstance(job.spec, dict) else [("spec", job.spec)] if job.spec else []
    text = mask_passwords(" ".join(f"{name}={value(field)}" for name, field in fields))
    return text if len(text) <= MAX_SUMMARY_LENGTH else f"{text[: MAX_SUMMARY_LENGTH - 1]}…"


def elapsed(job: Job) -> str:
    """Return how long a job has run."""
    if job.started_at is None:
        return ""
    return rough(((job.finished_at or now()) - job.started_at).total_seconds())


def job_note(job: Job) -> str:
    """Return the error or reason of an inactive job, or why a job is degraded or flagged."""
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
    """Return the capabilities of a worker, with the number of its encoders."""
    encoders = [name for name in names if name.startswith("encoder:")]
    others = sorted({*names} - {*encoders})
    return " ".join(others if not encoders else [*others, f"{len(encoders)} encoders"])


def _indented(content: RenderableType) -> Padding:
    return Padding(content, (0, 0, 0, 2))


def qualities_table(qualities: Iterable[Quality]) -> Table:
    made = table("quality", "status", "", "", "segments", "details", flexible=["details"])
    for each in qualities:
        skipped = each.status is QualityStatus.SKIPPED
        made.add_row(
            each.quality,
            status(each.status),
            "" if skipped else bar(each.progress_percent, each.status),
            "" if skipped else share(each.progress_percent),
            "" if skipped else f"{each.segments_completed}/{each.segments_total}",
            cut(each.error_message or (f"reused from version {each.reused_from}" if each.reused_from else "")),
        )
    return made
