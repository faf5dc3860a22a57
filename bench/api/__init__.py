"""Load on the HTTP server: one process, with requests over real connections.

Run it with `python -m bench.api`. Each scenario has a file and starts servers of its own; a figure that misses its aim
makes the run end with 1.
"""
