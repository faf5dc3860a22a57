"""What goes wrong in a folder or a bucket, as errors of ours. What is quoted never holds a credential."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

from reelstate.core.errors import (
    StorageDenied,
    StorageError,
    StorageFull,
    StorageMissing,
    StorageUnavailable,
)

LONGEST_CAUSE: Final = 200
FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
DENIED: Final = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_CREDENTIALS: Final = re.compile(
    r"169\.254\.|metadata|/latest/api/token|token request|credential|could not load", re.IGNORECASE
)
_DENIED: Final = re.compile(r"\b40[13]\b|SignatureDoesNotMatch|AccessDenied|InvalidAccessKeyId")
_NO_BUCKET: Final = re.compile(r"NoSuchBucket|bucket does not exist|container.{0,40}not.{0,10}exist", re.IGNORECASE)
_CALL: Final = re.compile(r"Error performing (\w+) (\w+://[^/\s]+)\S* in .*? - ")
"""The description of the failed call, which precedes the cause and is left out."""
_SECRET: Final = re.compile(r"(://)[^/\s@]*@|([?&][^=\s]*(?:sig|token|key|credential)[^=\s]*=)[^&\s]+", re.IGNORECASE)


@contextmanager
def folder_faults(place: str) -> Iterator[None]:
    """Turn what the file system says into an error that tells what to do."""
    try:
        yield
    except OSError as error:
        raise folder_fault(place, error) from error


def folder_fault(place: str, error: OSError) -> StorageError:
    text = error.strerror or str(error)
    if error.errno in FULL:
        return StorageFull(f"{place}: {text}", hint="free space on the disk")
    if error.errno in DENIED:
        return StorageDenied(f"{place}: {text}", hint="let the user of this process read and write the folder")
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
        hint = "it was never written, or has been deleted; or REEL_STORAGE_URL is not the folder that is meant"
        return StorageMissing(f"{place}: {text}", hint=hint)
    return StorageUnavailable(f"{place}: {text}", hint="check that the disk or share is mounted and healthy")


@contextmanager
def bucket_faults(place: str) -> Iterator[None]:
    """Turn what the client of a bucket says into an error that tells what to do."""
    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        raise bucket_fault(place, error) from error
    except OSError as error:
        raise folder_fault(place, error) from error


def bucket_fault(place: str, error: Exception) -> StorageError:
    text = str(error)
    if _NO_BUCKET.search(text):
        return StorageMissing(f"{place}: there is no such bucket", hint="create it, or correct REEL_STORAGE_URL")
    if isinstance(error, FileNotFoundError):
        return StorageMissing(f"{place}: there is no such object", hint="it was never written, or has been deleted")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return _denied(place, "the credentials are refused")
    if _NO_CREDENTIALS.search(_first_line(text)):
        return _denied(place, "there are no credentials")
    if _DENIED.search(_first_line(text)):
        return _denied(place, "the credentials are refused")
    return StorageUnavailable(
        f"{place}: {cause(text)}", hint="check that the endpoint is right and reachable; the task is retried"
    )


def _denied(place: str, why: str) -> StorageDenied:
    return StorageDenied(
        f"{place}: {why}",
        hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, GOOGLE_APPLICATION_CREDENTIALS or AZURE_STORAGE_…, "
        "with rights to read, write, list and delete",
    )


def cause(text: str) -> str:
    """The first line of what a client says, short, without secrets."""
    line = _CALL.sub(r"\1 \2: ", _first_line(text))
    return _SECRET.sub(lambda found: f"{found[1] or found[2]}***", line)[:LONGEST_CAUSE]


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")
