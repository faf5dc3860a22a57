"""`python -m reelstate` is the command `reel`."""

from reelstate.cli.main import app

app()
