"""The measured claims of the project: each package here is run with `python -m`."""
