"""Trust anchors of a host's own beside the public ones, as one file that libcurl reads."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import certifi

from mudroom.errors import InvalidConfig

__all__ = ["Anchors"]

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL


class Anchors:
    """The files of one transport; each is read once, so that a change needs a new transport.

    Why: the joined anchors live in sealed memory that has a file's name. As a value (`CAINFO_BLOB`) libcurl copies
    and compares all 250 KB of them for every request, and reads them anew for every connection.
    """

    def __init__(self) -> None:
        self._public = certifi.where()
        self._descriptors: dict[str, int] = {}

    def path(self, ca_file: str | None) -> str:
        """What to give libcurl: the public anchors, and with a PEM file those in it too.

        Raises: InvalidConfig when the file cannot be read.
        """
        if ca_file is None:
            return self._public
        descriptor = self._descriptors.get(ca_file)
        if descriptor is None:
            descriptor = self._descriptors[ca_file] = _join(ca_file)
        return f"/proc/self/fd/{descriptor}"

    def close(self) -> None:
        """Free the memory; no connection may be made after this."""
        while self._descriptors:
            os.close(self._descriptors.popitem()[1])


def _join(ca_file: str) -> int:
    try:
        extra = Path(ca_file).read_bytes()
    except OSError as error:
        raise InvalidConfig(
            f"egress.ca_file: {ca_file} cannot be read ({error.strerror}); expected a PEM file"
        ) from error
    descriptor = os.memfd_create("trust-anchors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(Path(certifi.where()).read_bytes() + b"\n" + extra)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
    return descriptor
