"""A role that does nothing, for a guest that is started only to try its lock."""

from __future__ import annotations

from mudroom.wire import FrameKind, refuse

__all__ = ["ProbeRole"]


class ProbeRole:
    """Knows no request."""

    def warm(self) -> None:
        """Nothing to warm."""

    def configure(self, settings: tuple[int, ...]) -> None:
        """Takes none."""

    def answer(self, kind: FrameKind, payload: bytes | bytearray | memoryview) -> tuple[FrameKind, bytes]:
        """Refuses. Raises GuestFailed(GUEST_PROTOCOL) always."""
        raise refuse(f"a {kind.name} of {len(payload)} bytes to a guest that only tries its lock")
