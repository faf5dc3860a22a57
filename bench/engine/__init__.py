"""The engine against hand-written SQL and its peers, side by side on one database server.

Run it with `python -m bench.engine`. A *contestant* is a system under measure: the engine, the
ceiling or a peer. A *scenario* is what is done to it once: fresh database, warm-up, submit, drain.
Every contestant of every scenario runs in a process of its own, and the runs are interleaved, so
that noise of the machine hits all alike.
"""
