"""How downloads come on: a line for each that runs and one of totals on a terminal, a line an event elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mudroom.cli.console import Voice
from mudroom.cli.inert import make_inert, shorten
from mudroom.cli.transfers import Report
from mudroom.cli.verdict import describe_size, tell_failure
from mudroom.clock import Clock

if TYPE_CHECKING:  # rich is loaded for terminals only
    from mudroom.cli.terminal import LiveLines

__all__ = ["TransferProgress"]

_NAME_WIDTH = 32


class TransferProgress:
    """Tells a person of transfers, from `with` to its end, and hands each finished report on."""

    def __init__(
        self, voice: Voice, clock: Clock, count: int, on_report: Callable[[Report], None] | None = None
    ) -> None:
        self._voice = voice
        self._now = clock.monotonic
        self._count = count
        self._on_report = on_report
        self._running: dict[int, tuple[Report, float]] = {}
        self._done = self._failed = self._bytes = 0
        self._began = self._now()
        self._live: LiveLines | None = None
        if voice.is_on_terminal and not voice.is_quiet:
            from mudroom.cli.terminal import LiveLines  # noqa: PLC0415 - rich is loaded for terminals only

            self._live = LiveLines(self.list_lines)

    def __enter__(self) -> Self:
        """Begin the live lines, on a terminal."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the live lines away."""
        if self._live is not None:
            self._live.stop()

    def on_begin(self, report: Report) -> None:
        """Show it among those that run."""
        self._running[report.order.number] = (report, self._now())
        if self._voice.is_verbose and self._live is None:
            self._voice.say("fetching", report.order.untrusted_url)

    def on_end(self, report: Report) -> None:
        """Say what came of it."""
        del self._running[report.order.number]
        self._bytes += report.size - report.continued_from
        order, error = report.order, report.error
        if error is None:
            self._done += 1
            rest = (
                f", the rest from {describe_size(report.continued_from)} on" if report.continued_from else ""
            )
            name = order.destination.name
            self._voice.say("came", f"{name}, {describe_size(report.size)}{rest}, guarded, not screened")
        else:
            self._failed += 1
            tell_failure(order.untrusted_url, error.code, error.message, self._voice)
            if report.kept_bytes:
                self._voice.say("kept", f"{describe_size(report.kept_bytes)}, which -C goes on with")
        if self._on_report is not None:
            self._on_report(report)

    def list_lines(self, room: int) -> list[str]:
        """At most `room` lines: those that run, and the totals last. Called from the terminal's own thread."""
        now, running = self._now(), list(self._running.values())
        shown = running[: max(1, room - 2)]
        lines = [self._describe(report, now - began) for report, began in shown]
        if len(running) > len(shown):
            lines.append(f"… and {len(running) - len(shown)} more")
        came = self._bytes + sum(report.size - report.continued_from for report, _ in running)
        failed = f", {self._failed} failed" if self._failed else ""
        lines.append(
            f"{self._done} of {self._count} done{failed}, {len(running)} running, "
            f"{describe_size(came)}, {_describe_rate(came, now - self._began)}"
        )
        return lines

    def _describe(self, report: Report, seconds: float) -> str:
        name = shorten(make_inert(report.order.destination.name), _NAME_WIDTH).ljust(_NAME_WIDTH)
        rate = _describe_rate(report.size - report.continued_from, seconds)
        if not report.total:
            return f"{name}       {describe_size(report.size)}, {rate}"
        share = min(100, report.size * 100 // report.total)
        return f"{name} {share:>3} %  {describe_size(report.size)} of {describe_size(report.total)}, {rate}"


def _describe_rate(size_bytes: int, seconds: float) -> str:
    return f"{describe_size(int(size_bytes / seconds))}/s" if seconds > 0 else "0 B/s"
