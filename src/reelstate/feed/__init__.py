"""Replay, then live: how a log comes to its subscribers. The engine's record and the states of tasks both use it."""
