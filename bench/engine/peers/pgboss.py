"""pg-boss under Node."""

from pathlib import Path

from bench.engine.peers import node
from bench.engine.system import System

FOLDER = Path(__file__).parent / "pgboss"


def install() -> None:
    node.install(FOLDER)


class PgBoss(node.NodePeer):
    """`insert` of 1,000 in, batches of 1,000 to two handlers out."""

    package = "pg-boss"
    folder = FOLDER
    settings = "insert of 1,000, batchSize 1,000 (the handler gets the batch), localConcurrency 2, burstWhenBatchFull"


system: type[System] = PgBoss
