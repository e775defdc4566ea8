"""Whether the file of further trust anchors can be used, told before the first request needs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mudroom.settings.sections import EgressSettings

__all__ = ["check_anchors"]

_MARK = b"-----BEGIN CERTIFICATE-----"
_MAX_BYTES = 16 * 1024 * 1024


def check_anchors(egress: EgressSettings) -> Iterator[tuple[str, str]]:
    """Faults of `ca_file` and `ca_hosts`: the key, and the rest of the sentence."""
    if egress.ca_file is None:
        if egress.ca_hosts:
            yield "ca_hosts", f"names {len(egress.ca_hosts)} hosts; expected a ca_file beside it"
        return
    path = Path(egress.ca_file)
    if not path.is_absolute():
        yield "ca_file", f"is {egress.ca_file!r}; expected an absolute path"
        return
    if not egress.ca_hosts:
        yield (
            "ca_file",
            f"is {egress.ca_file!r}; expected beside it ca_hosts, the hosts for which it is valid",
        )
    try:
        is_pem = _holds_certificate(path)
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        yield "ca_file", f"is {egress.ca_file!r}: {reason}; expected a PEM file that can be read"
        return
    if not is_pem:
        yield "ca_file", f"is {egress.ca_file!r}, which holds no certificate; expected a PEM file"


def _holds_certificate(path: Path) -> bool:
    if not path.is_file():
        path.stat()
        return False
    with path.open("rb") as file:
        return _MARK in file.read(_MAX_BYTES)
