"""The verbs of the command line over HTTP, for operators without access to the database."""
