"""Reelstate runs media pipelines on a fleet of workers without losing a job."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("reelstate")
