"""The task×tag state manager: tasks write their states, every process reads them, replayed and then live."""

from reelstate.core.state import FINISHED, NOT_STARTED, STARTED, Severity, State, StateJob
from reelstate.feed.subscriber import FeedMessage, MessageKind
from reelstate.states.manager import StateManager
from reelstate.states.memory import MemoryStore
from reelstate.states.state_store import StateStore

__all__ = [
    "FINISHED",
    "NOT_STARTED",
    "STARTED",
    "FeedMessage",
    "MemoryStore",
    "MessageKind",
    "Severity",
    "State",
    "StateJob",
    "StateManager",
    "StateStore",
]
