"""The process of one contestant: reads an order as JSON, prints its measurements as JSON on the last line."""

import asyncio
import importlib
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from bench.engine.scenarios import SCENARIOS, Measured, Order
from bench.engine.system import EventLoop, System, Unavailable


@dataclass(frozen=True)
class Answer:
    """The result of an order; `unavailable` is the reason why there is none."""

    measured: Measured
    versions: dict[str, str]
    settings: str
    unavailable: str | None = None


def load(module: str) -> System:
    try:
        contestant: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith(("bench", "reelstate")):
            raise
        raise Unavailable(f"{error.name} is not installed") from error
    if hasattr(contestant, "install"):
        contestant.install()
    system: System = contestant.system()
    return system


async def measure(system: System, order: Order) -> Measured:
    await system.prepare(order.url)
    try:
        return await SCENARIOS[order.scenario](system, order)
    finally:
        await system.close()


def runner(event_loop: EventLoop) -> asyncio.Runner:
    if event_loop == "asyncio":
        return asyncio.Runner()
    import uvloop  # noqa: PLC0415 - only needed with uvloop

    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def fulfil(order: Order) -> Answer:
    try:
        system = load(order.module)
    except Unavailable as error:
        return Answer({}, {}, "", unavailable=str(error))
    with runner(system.event_loop) as loop:
        measured = loop.run(measure(system, order))
    return Answer(measured, system.versions(), system.settings)


if __name__ == "__main__":
    print(json.dumps(asdict(fulfil(Order(**json.loads(sys.argv[1]))))))
