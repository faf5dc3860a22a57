"""What the library adds to the keeper."""

from __future__ import annotations

from reelstate.artifacts.storage import open_storage
from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.keeper import Duty
from reelstate.library.publisher import Publisher
from reelstate.library.receiver import EXPIRE_EVERY, upload_receiver


def library_duties(engine: Engine, settings: Settings) -> list[Duty]:
    """Return the duties that publish versions, delete unneeded files and expire uploads."""
    publisher = Publisher(engine, open_storage(settings.storage_url), keep=settings.keep_versions)
    receiver = upload_receiver(engine.store, settings)
    # On every server, not only the leader: unfinished uploads may be on a disk of that server.
    return [*publisher.duties(), Duty("expire uploads", EXPIRE_EVERY, receiver.expire, leader_only=False)]
