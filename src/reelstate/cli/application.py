"""Load the pipelines of `--app module:name`, with errors that show the line in the code of the user."""

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

EXAMPLE = "for example --app pipelines:thumbs"
OTHER_CODE = (Path(__file__).parents[1], Path(sysconfig.get_path("stdlib")))


def select_pipelines(settings: Settings) -> list[Pipeline]:
    """Return the pipelines of a worker: built-in and those of `--app`, or those that the settings select."""
    found = [*built_in_pipelines(settings), *(load_pipelines(settings.app) if settings.app else [])]
    selected = {name.strip() for name in settings.worker_pipelines.split(",") if name.strip()}
    names = [pipeline.name for pipeline in found]
    unknown = sorted(selected.difference(names))
    if unknown:
        raise InvalidRequest(
            "worker_pipelines", f"there is no pipeline {unknown[0]!r}", hint=f"pipelines: {', '.join(names)}"
        )
    return [pipeline for pipeline in found if not selected or pipeline.name in selected]


def load_pipelines(app: str) -> list[Pipeline]:
    """Load `module:name`: a pipeline or a list of them; without a name, all pipelines of the module."""
    path, _, name = app.partition(":")
    module = _import(_module_name(path))
    found = _attribute(module, name) if name else [value for value in vars(module).values() if _is_pipeline(value)]
    if isinstance(found, ModuleType):
        found = [value for value in vars(found).values() if _is_pipeline(value)]
    pipelines = [found] if _is_pipeline(found) else found
    if not isinstance(pipelines, list | tuple) or not pipelines or not all(map(_is_pipeline, pipelines)):
        raise InvalidRequest("app", f"{app} is not a pipeline or a list of pipelines", hint=_known(module))
    return list({id(pipeline): pipeline for pipeline in pipelines}.values())


def _module_name(path: str) -> str:
    """Return the name of a module, which may be given as a file such as `folder/pipelines.py`."""
    name = path.removesuffix(".py").replace("/", ".").lstrip(".")
    if not all(piece.isidentifier() for piece in name.split(".")):
        raise InvalidRequest("app", f"{path!r} is not a module", hint=EXAMPLE)
    return name


def _import(name: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise InvalidRequest(
                "app",
                f"there is no module {name!r}",
                hint=f"searched in {folder} and the Python path; {EXAMPLE}",
            ) from None
        raise _import_error(name, error) from error
    except (Exception, SystemExit) as error:
        raise _import_error(name, error) from error


def _import_error(name: str, error: BaseException) -> InvalidRequest:
    """Return an error in the code of the user, with its last line there."""
    message = error.message if isinstance(error, ReelstateError) else f"{type(error).__name__}: {error}"
    hint = error.hint if isinstance(error, ReelstateError) and error.hint else "fix it, and try again"
    return InvalidRequest("app", f"{_location(name, error)}: {message}", hint=hint)


def _location(name: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_user_code(frame.filename)]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else f"module {name!r}"


def _is_user_code(file: str) -> bool:
    """Return whether a file is not part of this package, of Python or of an installed library."""
    path = Path(file)
    return path.is_file() and "site-packages" not in path.parts and not any(map(path.is_relative_to, OTHER_CODE))


def _attribute(module: ModuleType, name: str) -> Any:
    found: Any = module
    for piece in name.split("."):
        if not hasattr(found, piece):
            raise InvalidRequest("app", f"{name!r} not found in {module.__file__}", hint=_known(module))
        found = getattr(found, piece)
    return found


def _known(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if _is_pipeline(value)]
    if names:
        return f"pipelines there: {', '.join(names)}"
    return f'declare one: thumbs = rs.Pipeline("thumbs"); {EXAMPLE}'


def _is_pipeline(value: object) -> bool:
    return isinstance(value, Pipeline)
