"""What the routes of the video library share: videos, uploads, playback and the storage."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from reelstate.artifacts.storage import Storage, open_storage
from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.library.playback import Playback
from reelstate.library.receiver import UploadReceiver, upload_receiver
from reelstate.library.videos import Videos
from reelstate.media.sources.address import InputRules, input_rules


class Library:
    """The video library of one server."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.settings = settings
        self.storage: Storage = open_storage(settings.storage_url)
        self.rules: InputRules = input_rules(settings)
        self.videos = Videos(engine)
        self.receiver: UploadReceiver = upload_receiver(engine.store, settings)
        self.playback = Playback(engine.store)


def library_of(connection: HTTPConnection) -> Library:
    """Return the library of the application that serves a connection."""
    found: Library = connection.app.state.library
    return found


InLibrary = Annotated[Library, Depends(library_of)]
