"""The engine itself, on PostgreSQL or SQLite by the URL it is given.

Everything measured goes through the engine's public verbs: submit, claim, complete. Nothing here
may touch its tables, except `fill_history`, which writes finished work in bulk before the clock runs.
"""

from bench.engine.system import Unavailable


def install() -> None:
    raise Unavailable("the engine is not wired into the benchmark yet")
