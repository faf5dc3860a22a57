"""The child process of `probe.py`: reads one source with PyAV and reports its facts.

A hostile file can make demuxers and decoders misbehave, so they do not run in a worker. The child limits its memory,
CPU time and files, can read the given source only, and can write nothing. It imports nothing else of `reelstate`, which
the sandbox may hide and which would take longer to load than a probe takes. Frames over stdin and stdout:

    parent ── D request (JSON) ──▶ child    the command, the limits, and a descriptor or the size of the source
    parent ◀── R offset length ── child     read request, for a source without a descriptor …
    parent ── D bytes ──▶ child             … and its answer
    parent ◀── A answer (JSON) ── child     facts, or the reason of the refusal
"""
