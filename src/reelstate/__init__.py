"""Reelstate runs media pipelines on a fleet of workers without losing a job.

The public names are those of `reelstate.exports`, imported at their first use: importing any module of the package runs
this file, and a command such as `reel --help` needs almost none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reelstate.exports import *  # noqa: F403 - exactly its __all__
    from reelstate.exports import __all__ as __all__
    from reelstate.exports import __version__ as __version__
else:

    def __getattr__(name: str) -> object:
        """Return a public name. Raises `AttributeError` for any other."""
        exports = import_module("reelstate.exports")
        if name == "__all__" or name in exports.__all__:
            return getattr(exports, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *import_module("reelstate.exports").__all__})
