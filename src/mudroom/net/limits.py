"""What one exchange may cost in time and bytes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NetLimits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetLimits:
    """Deadlines and caps of one exchange with one peer.

    Each deadline is a timer of ours and ends in a code of its own. `connect` and `response` count from
    the start, `total` from the end of the headers, `idle` from the last bytes; time in which the
    consumer does not read is not idle time of the peer.
    """

    connect_timeout_seconds: float = 5.0
    response_timeout_seconds: float = 60.0
    idle_timeout_seconds: float = 15.0
    total_timeout_seconds: float = 180.0
    max_header_bytes: int = 256 * 1024
    """Over all header blocks of the answer, interim answers and trailers included."""
    max_interim_responses: int = 16
    """1xx answers before the final one."""
    max_body_bytes: int = 10 * 1024 * 1024
    """As received, still content-encoded."""
    max_buffered_bytes: int = 256 * 1024
    """What waits for the consumer of a stream before the peer is paused."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than 0")
