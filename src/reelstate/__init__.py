"""Reelstate runs media pipelines on a fleet of workers without losing a job."""

from importlib.metadata import version

from reelstate.app import open_engine as open
from reelstate.blocking import Connection, connect
from reelstate.config import Settings
from reelstate.core.declaration import Pipeline
from reelstate.core.document import Limits
from reelstate.core.errors import ReelstateError
from reelstate.core.machine import JobStatus, TaskStatus, WorkerStatus
from reelstate.core.model import (
    Completion,
    Failure,
    LogLine,
    NewVideo,
    Progress,
    Release,
    Step,
    Submission,
    TaskKey,
    TaskState,
    Verdict,
    VideoStatus,
)
from reelstate.core.outcome import Fail, Retry, Skip, Stopped
from reelstate.core.pipeline import Graph, StageSpec
from reelstate.core.policy import Backoff
from reelstate.services.engine import Engine
from reelstate.services.operate.operation import Operation
from reelstate.services.operate.retry import From
from reelstate.worker.run import BlockingRun, Run

__all__ = [
    "Backoff",
    "BlockingRun",
    "Completion",
    "Connection",
    "Engine",
    "Fail",
    "Failure",
    "From",
    "Graph",
    "JobStatus",
    "Limits",
    "LogLine",
    "NewVideo",
    "Operation",
    "Pipeline",
    "Progress",
    "ReelstateError",
    "Release",
    "Retry",
    "Run",
    "Settings",
    "Skip",
    "StageSpec",
    "Step",
    "Stopped",
    "Submission",
    "TaskKey",
    "TaskState",
    "TaskStatus",
    "Verdict",
    "VideoStatus",
    "WorkerStatus",
    "__version__",
    "connect",
    "open",
]

__version__ = version("reelstate")
