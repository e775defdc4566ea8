"""Names that resolve to whatever a test says, one look-up after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from mudroom.errors import Code, FetchFailed

__all__ = ["Hang", "LookUp", "ScriptedResolver"]


@dataclass(frozen=True, slots=True)
class Hang:
    """A look-up that does not end before the event is set; then it gives `addresses`."""

    event: asyncio.Event
    addresses: str = ""


LookUp = str | Code | Hang
"""One look-up's result: addresses separated by spaces, in order ("" for an empty answer), or a failure."""


class ScriptedResolver:
    """A `Resolver` whose answers are written down, and which notes every question.

    Shapes: `answers` maps a host to one look-up (given every time) or to several (given in turn, the last
    one repeated). A host that is not in it fails with DNS_FAILURE, as an unknown name does.
    """

    def __init__(self, answers: Mapping[str, LookUp | Sequence[LookUp]] | None = None) -> None:
        self._answers: dict[str, list[LookUp]] = {}
        self.lookups: list[str] = []
        """Every host asked, in order."""
        for host, script in (answers or {}).items():
            self.set_answers(host, script)

    def set_answers(self, host: str, script: LookUp | Sequence[LookUp]) -> None:
        """Write down what a host resolves to from now on."""
        self._answers[host] = [script] if isinstance(script, str | Hang) else list(script)

    def count(self, host: str) -> int:
        """How often a host was asked."""
        return self.lookups.count(host)

    async def resolve(self, host: str) -> tuple[IPv4Address | IPv6Address, ...]:
        """The next answer for a host.

        Raises: FetchFailed with the code scripted, or DNS_FAILURE for a host without script.
        """
        self.lookups.append(host)
        script = self._answers.get(host, [Code.DNS_FAILURE])
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, Hang):
            await answer.event.wait()
            answer = answer.addresses
        if isinstance(answer, Code):
            raise FetchFailed(answer, f"{host} does not resolve (scripted)")
        return tuple(ip_address(address) for address in answer.split())
