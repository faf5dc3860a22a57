"""What routes of the library work with: where films come in, and where they are played from."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from reelstate.artifacts.storage import Storage, open_storage
from reelstate.config import Settings
from reelstate.engine import Engine
from reelstate.library.receiver import UploadReceiver, reception_of
from reelstate.media.sources.address import InputRules, input_rules
from reelstate.services.playback import Playback


class Library:
    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.settings = settings
        self.storage: Storage = open_storage(settings.storage_url)
        self.rules: InputRules = input_rules(settings)
        self.reception: UploadReceiver = reception_of(engine.store, settings)
        self.playback = Playback(engine.store)


def library_of(connection: HTTPConnection) -> Library:
    found: Library = connection.app.state.library
    return found


InLibrary = Annotated[Library, Depends(library_of)]
