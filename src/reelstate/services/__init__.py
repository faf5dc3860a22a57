"""The verbs of the engine, one file each. A verb checks its input, then runs one flow in one transaction."""
