"""What was judged of the addresses of hosts last.

Most hosts answer as they did the last time, to the same scope: that verdict is remembered.
"""

from __future__ import annotations

from typing import NamedTuple

from mudroom.address import (
    AllowedUrl,
    EgressPolicy,
    ExceptionScope,
    IPAddress,
    RefusedAnswers,
    judge_answers,
)
from mudroom.errors import Code, EgressRefused, FetchFailed

__all__ = ["Exceptions", "HostVerdicts"]

_MAX_VERDICTS = 1024

Exceptions = dict[str, str]
"""The exception behind a dialled address (as text), for those that needed one."""


class _Judged(NamedTuple):
    """What was judged of a host last, and what came of it."""

    policy: EgressPolicy
    answer: tuple[IPAddress, ...]
    scope: ExceptionScope
    url_exception: str | None
    allowed: tuple[tuple[IPAddress, ...], Exceptions]


class HostVerdicts:
    """The verdicts of one fetcher; bounded, and none holds under another policy than its own."""

    def __init__(self) -> None:
        self._judged: dict[str, _Judged] = {}

    def judge(
        self, target: AllowedUrl, answer: tuple[IPAddress, ...], scope: ExceptionScope, policy: EgressPolicy
    ) -> tuple[tuple[IPAddress, ...], Exceptions]:
        """The addresses of a hop when all may be dialled, and the exceptions behind those that need one.

        Raises: EgressRefused, or FetchFailed DNS_FAILURE where there is none.
        """
        host, url_exception = target.url.host, target.exception
        if target.url.address is not None:
            return answer, {} if url_exception is None else {str(target.url.address): url_exception}
        last = self._judged.get(host)
        if (
            last is not None
            and last.policy is policy
            and last.answer == answer
            and (last.scope is scope or last.scope == scope)
            and last.url_exception == url_exception
        ):
            return last.allowed
        verdict = judge_answers(answer, policy, scope, host=host, url_exception=url_exception)
        if isinstance(verdict, RefusedAnswers):
            kind = FetchFailed if verdict.code is Code.DNS_FAILURE else EgressRefused
            raise kind(verdict.code, verdict.message)
        if len(self._judged) >= _MAX_VERDICTS:
            self._judged.clear()
        exceptions = {
            str(one.address): one.exception for one in verdict.verdicts if one.exception is not None
        }
        allowed = (verdict.addresses, exceptions)
        self._judged[host] = _Judged(policy, answer, scope, url_exception, allowed)
        return allowed
