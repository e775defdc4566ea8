"""One hop while its answer is here: its slot and its exchange, which end together."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from mudroom.fetch.slots import Slot
from mudroom.net import WireResponse

__all__ = ["Visit"]

_Exchange = AbstractAsyncContextManager[WireResponse]


class Visit:
    """An answer at its headers, entered already; leaving closes the exchange, then frees the slot."""

    __slots__ = ("_exchange", "_slot", "response")

    def __init__(self, slot: Slot, exchange: _Exchange, response: WireResponse) -> None:
        self._slot = slot
        self._exchange = exchange
        self.response = response

    async def close(self) -> None:
        """End the hop; where bytes remain its socket is closed."""
        try:
            await self._exchange.__aexit__(None, None, None)
        finally:
            await self._slot.__aexit__(None, None, None)

    async def __aenter__(self) -> WireResponse:
        return self.response

    def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> Coroutine[None, None, None]:
        return self.close()
