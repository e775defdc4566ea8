"""What only a terminal shows: colours, fitted tables, a line that changes. Loaded where there may be one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from mudroom.cli.inert import shorten

__all__ = ["LiveLine", "LiveLines", "has_terminal", "print_fitted", "print_label"]

_GAP = 2
_LEAST_WIDTH = 12


def has_terminal(*, is_stderr: bool) -> bool:
    """Whether a person sits at the other end, as far as stream and environment tell."""
    return _console(is_stderr=is_stderr).is_terminal


def print_label(label: str, sentence: str, style: str) -> None:
    """One line on stderr, its label in colours where it may be; nothing in it is markup."""
    _console(is_stderr=True).print(Text.assemble(Text(label, style=style), sentence))


def print_fitted(
    columns: Sequence[str], cells: Sequence[Sequence[str]], styles: Mapping[str, str], cut: Collection[str]
) -> None:
    """A table on stdout, as wide as the terminal at most."""
    console = _console(is_stderr=False)
    widths = _fit(columns, cells, cut, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=bool(cut))
    for row in cells:
        parts = (shorten(cell, width) if cut else cell for cell, width in zip(row, widths, strict=True))
        table.add_row(*(Text(part, style=styles.get(part, "")) for part in parts))
    console.print(table)


class LiveLine:
    """One line on stderr that is written anew in its place until it is taken away."""

    def __init__(self) -> None:
        self._live = Live(console=_console(is_stderr=True), refresh_per_second=8, transient=True)

    def start(self) -> None:
        """Show the line."""
        self._live.start()

    def stop(self) -> None:
        """Take the line away."""
        self._live.stop()

    def update(self, text: str) -> None:
        """Write another text in its place."""
        self._live.update(Text(text))

    def print_above(self, label: str, sentence: str, style: str) -> None:
        """A line that stays, above the one that changes."""
        self._live.console.print(Text.assemble(Text(label, style=style), sentence))


class LiveLines:
    """Lines on stderr that are written anew in their place until they are taken away.

    Shapes: `list_lines` is told how many lines there is room for, and asked from a thread of its own.
    """

    def __init__(self, list_lines: Callable[[int], list[str]]) -> None:
        console = _console(is_stderr=True)
        self._live = Live(
            console=console,
            refresh_per_second=8,
            transient=True,
            get_renderable=lambda: Text(
                "\n".join(list_lines(console.height - 1)), overflow="ellipsis", no_wrap=True
            ),
        )

    def start(self) -> None:
        """Show the lines."""
        self._live.start()

    def stop(self) -> None:
        """Take the lines away."""
        self._live.stop()


def _console(*, is_stderr: bool) -> Console:
    return Console(stderr=is_stderr, highlight=False, markup=False, emoji=False, soft_wrap=is_stderr)


def _fit(
    columns: Sequence[str], cells: Sequence[Sequence[str]], cut: Collection[str], room: int
) -> list[int]:
    """The width of each column, where the longest that may be cut gives way until all have room."""
    widths = [max(len(line[place]) for line in (columns, *cells)) for place in range(len(columns))]
    excess = sum(widths) + _GAP * (len(widths) - 1) - room
    places = [place for place, column in enumerate(columns) if column in cut]
    while excess > 0 and places:
        longest = max(places, key=lambda place: widths[place])
        if widths[longest] <= _LEAST_WIDTH:
            break
        widths[longest] -= 1
        excess -= 1
    return widths
