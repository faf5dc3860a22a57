"""The user's own code: `--app module:name` becomes a list of pipelines, or an error that names the place."""

from __future__ import annotations

import importlib
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from reelstate.app import built_in_pipelines
from reelstate.config import Settings
from reelstate.core.errors import InvalidRequest, ReelstateError
from reelstate.pipelines.declaration import Pipeline

EXAMPLE = "write --app module:name, for example --app pipelines:thumbs"
NOT_THEIRS = (Path(__file__).parents[1], Path(sysconfig.get_path("stdlib")))


def select_pipelines(settings: Settings) -> list[Pipeline]:
    """What a worker runs: the pipelines that are built in and the user's own, or those that the settings name."""
    found = [*built_in_pipelines(settings), *(load_pipelines(settings.app) if settings.app else [])]
    chosen = {name.strip() for name in settings.worker_pipelines.split(",") if name.strip()}
    names = [pipeline.name for pipeline in found]
    unknown = sorted(chosen.difference(names))
    if unknown:
        raise InvalidRequest(
            "worker_pipelines", f"there is no pipeline {unknown[0]!r} here", hint=f"pipelines: {', '.join(names)}"
        )
    return [pipeline for pipeline in found if not chosen or pipeline.name in chosen]


def load_pipelines(app: str) -> list[Pipeline]:
    """The pipelines that `module:name` stands for: one, a list of them, or all of a module that is named alone."""
    place, _, name = app.partition(":")
    module = _module(_dotted(place))
    found = _attribute(module, name) if name else [value for value in vars(module).values() if _is_pipeline(value)]
    if isinstance(found, ModuleType):
        found = [value for value in vars(found).values() if _is_pipeline(value)]
    pipelines = [found] if _is_pipeline(found) else found
    if not isinstance(pipelines, list | tuple) or not pipelines or not all(map(_is_pipeline, pipelines)):
        raise InvalidRequest("app", f"{app} is not a pipeline, nor a list of them", hint=_known(module))
    return list({id(pipeline): pipeline for pipeline in pipelines}.values())


def _dotted(place: str) -> str:
    """A module's name; a file may be named as people see it, `folder/film.py`."""
    name = place.removesuffix(".py").replace("/", ".").lstrip(".")
    if not all(piece.isidentifier() for piece in name.split(".")):
        raise InvalidRequest("app", f"{place!r} is not a module", hint=EXAMPLE)
    return name


def _module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidRequest(
                "app",
                f"there is no module {name!r}",
                hint=f"looked in {here} and where Python looks; {EXAMPLE}",
            ) from None
        raise _broken(name, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(name, error) from error


def _broken(name: str, error: BaseException) -> InvalidRequest:
    """An error inside the user's code, with the last place in it that is theirs."""
    words = error.message if isinstance(error, ReelstateError) else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, ReelstateError) and error.hint else "mend it there, and try again"
    return InvalidRequest("app", f"{_place(name, error)}: {words}", hint=hint)


def _place(name: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_theirs(frame.filename)]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else f"module {name!r}"


def _is_theirs(file: str) -> bool:
    """Whether a file is the user's: not ours, not Python's own, not an installed library's."""
    path = Path(file)
    return path.is_file() and "site-packages" not in path.parts and not any(map(path.is_relative_to, NOT_THEIRS))


def _attribute(module: ModuleType, name: str) -> Any:
    found: Any = module
    for piece in name.split("."):
        if not hasattr(found, piece):
            raise InvalidRequest("app", f"there is no {name!r} in {module.__file__}", hint=_known(module))
        found = getattr(found, piece)
    return found


def _known(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if _is_pipeline(value)]
    if names:
        return f"pipelines there: {', '.join(names)}"
    return f'declare one: film = rs.Pipeline("film"); {EXAMPLE}'


def _is_pipeline(value: object) -> bool:
    return isinstance(value, Pipeline)
