"""Stores whose statements a test intercepts: to pause in the middle of a transaction, or to raise."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from reelstate.engine import Engine
from reelstate.stores.store import Batch, Flow, Row, Store, Transaction
from reelstate.telemetry.facts import Fact

Result = TypeVar("Result")
Around = Callable[[str, Callable[[], Awaitable[list[Row]]]], Awaitable[list[Row]]]
"""Receives the name of a statement and a function that runs it."""


class WrappedTransaction:
    def __init__(self, inner: Transaction, around: Around) -> None:
        self._inner = inner
        self._around = around

    def note(self, fact: Fact) -> None:
        self._inner.note(fact)

    async def run(self, statement: Any, batch: Batch | None = None, /, **parameters: Any) -> list[Any]:
        return await self._around(statement.name, lambda: self._inner.run(statement, batch, **parameters))


class WrappedStore:
    """A store whose statements pass through `around`; everything else is delegated."""

    def __init__(self, inner: Store, around: Around) -> None:
        self._inner = inner
        self._around = around

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def read(self, flow: Flow[Result]) -> Result:
        return await self._inner.read(lambda transaction: flow(WrappedTransaction(transaction, self._around)))

    async def write(self, flow: Flow[Result]) -> Result:
        return await self._inner.write(lambda transaction: flow(WrappedTransaction(transaction, self._around)))

    async def write_alone(self, flow: Flow[Result], again: Flow[Result] | None = None) -> Result:
        """Run the flow in a transaction: a single statement that commits has no middle to pause in."""
        return await self.write(again or flow)


def wrap_engine(engine: Engine, around: Around) -> Engine:
    """Return the engine with its statements passed through `around`."""
    made = Engine(WrappedStore(engine.store, around), limits=engine.document_limits, extension=engine.extension)
    made.catalogue = engine.catalogue
    return made


class Pause:
    """Pauses once after the Nth statement until `go_on` is set."""

    def __init__(self, after: int) -> None:
        self._left = after
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self.statement = ""

    async def __call__(self, statement: str, run: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        rows = await run()
        self._left -= 1
        if self._left == 0:
            self.statement = statement
            self.reached.set()
            await self.go_on.wait()
        return rows


class Broken(Exception):
    """The error that a test raises in a statement."""


class Fault:
    """Raises once at the Nth statement, before or after it is run."""

    def __init__(self, at: int, *, after: bool) -> None:
        self._left = at
        self._after = after
        self.statement: str | None = None

    async def __call__(self, statement: str, run: Callable[[], Awaitable[list[Row]]]) -> list[Row]:
        self._left -= 1
        if self._left:
            return await run()
        self.statement = statement
        if self._after:
            await run()
        raise Broken(statement)
