"""graphile-worker under Node."""

from pathlib import Path

from bench.engine.peers import node
from bench.engine.system import System

FOLDER = Path(__file__).parent / "graphile"


def install() -> None:
    node.install(FOLDER)


class Graphile(node.NodePeer):
    """`addJobs` of 1,000 in, a local queue of 500 over 24 concurrent jobs out."""

    package = "graphile-worker"
    folder = FOLDER
    settings = (
        "addJobs of 1,000, concurrentJobs 24, localQueue.size 500, "
        "completeJobBatchDelay 0, failJobBatchDelay 0, pool of 25"
    )


system: type[System] = Graphile
