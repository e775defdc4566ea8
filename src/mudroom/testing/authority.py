"""Certificates for test servers, from an authority made on the spot; needs the extra `testing`."""

from __future__ import annotations

import ssl
from datetime import datetime
from pathlib import Path

from mudroom.testing.extra import explain_missing

try:
    import trustme
except ModuleNotFoundError as missing:
    raise explain_missing(missing, "a certificate authority for tests") from missing

__all__ = ["Authority"]


class Authority:
    """A certificate authority that nobody but the test trusts."""

    def __init__(self) -> None:
        self._ca = trustme.CA()

    @property
    def pem(self) -> bytes:
        """The authority's own certificate."""
        return self._ca.cert_pem.bytes()

    def write_pem(self, path: Path) -> Path:
        """The authority's certificate as a file, for `ca_file` settings."""
        path.write_bytes(self.pem)
        return path

    def server_context(
        self,
        *names: str,
        not_before: datetime | None = None,
        not_after: datetime | None = None,
        protocols: tuple[str, ...] = ("http/1.1",),
    ) -> ssl.SSLContext:
        """A server's TLS context whose certificate is valid for the names and addresses given."""
        certificate = self._ca.issue_cert(*names, not_before=not_before, not_after=not_after)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        context.set_alpn_protocols(list(protocols))
        return context
