"""Nouns and verbs: a method of an async class, offered to callers with an event loop and to callers without one.

A noun lists its verbs once, each by the method that does the work; the signature, the docstring and the types come from
that method. A verb of a `Noun[CallerLoop]` returns a coroutine, the same verb of a `Noun[LoopThread]` the result.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from reelstate.runtime.loop_thread import LoopThread

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class CallerLoop:
    """The event loop of the caller, who awaits the verbs."""


L = TypeVar("L", bound=CallerLoop | LoopThread)


class _Method(Protocol):
    method: Callable[..., Any]
    target: str


class Noun(Generic[L]):
    """Verbs with the object whose methods they call and the loop they run on."""

    def __init__(self, target: object, loop: L) -> None:
        self._target = target
        self._loop = loop

    def _bind(self, verb: _Method, run: Callable[[LoopThread, Callable[[], Any]], Any]) -> Any:
        bound = MethodType(verb.method, getattr(self, verb.target))
        if not isinstance(self._loop, LoopThread):
            return bound
        thread = self._loop

        @functools.wraps(bound)
        def call(*arguments: Any, **options: Any) -> Any:
            return run(thread, lambda: bound(*arguments, **options))

        return call


class Verb(Generic[P, R]):
    """A coroutine method, as a verb of a noun. `target` names the attribute of the noun with the method's object."""

    def __init__(self, method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]], target: str = "_target") -> None:
        self.method = method
        self.target = target

    @overload
    def __get__(self, noun: None, owner: type) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(self, noun: Noun[CallerLoop], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(self, noun: Noun[LoopThread], owner: type) -> Callable[P, R]: ...
    def __get__(self, noun: Noun[Any] | None, owner: type) -> Any:
        """Return the verb of a noun; of the class of a noun, the method."""
        return self.method if noun is None else noun._bind(self, LoopThread.run)  # noqa: SLF001


class Stream(Generic[P, T]):
    """A method that returns an async generator, as a verb of a noun."""

    def __init__(self, method: Callable[Concatenate[Any, P], AsyncGenerator[T, None]], target: str = "_target") -> None:
        self.method = method
        self.target = target

    @overload
    def __get__(self, noun: None, owner: type) -> Callable[Concatenate[Any, P], AsyncGenerator[T, None]]: ...
    @overload
    def __get__(self, noun: Noun[CallerLoop], owner: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    @overload
    def __get__(self, noun: Noun[LoopThread], owner: type) -> Callable[P, Iterator[T]]: ...
    def __get__(self, noun: Noun[Any] | None, owner: type) -> Any:
        """Return the verb of a noun; of the class of a noun, the method."""
        return self.method if noun is None else noun._bind(self, LoopThread.iterate)  # noqa: SLF001
