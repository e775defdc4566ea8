"""`mudroom prune`: what no run refers to any more, out of the archive."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click

from mudroom.address import parse_url
from mudroom.assembly import build_archive, build_reading_corpus
from mudroom.cli.amounts import describe_count, describe_size
from mudroom.cli.citations import gather_citations
from mudroom.cli.console import Voice, print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.targets import complete_url
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.clock import Clock, SystemClock
from mudroom.settings import Settings
from mudroom.snapshot import PruneReport, PruneRule, SourceKind, build_source_id

__all__ = ["command", "parse_age"]

_AGE = re.compile(r"([0-9]{1,6})([hdwy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}
_MAX_LIST_BYTES = 64 * 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """What the command line asks for."""

    keep_last: int
    sources: tuple[str, ...]
    keep: tuple[str, ...]
    older_than: timedelta | None
    runs_older_than: timedelta | None
    is_dry_run: bool


def parse_age(
    ctx: click.Context | None, param: click.Parameter | None, value: str | None
) -> timedelta | None:
    """A number of hours, days, weeks or years: 12h, 30d, 8w, 1y. Raises click.BadParameter."""
    del ctx, param
    if value is None:
        return None
    match = _AGE.fullmatch(value)
    if match is None:
        raise click.BadParameter("write a number and h, d, w or y, such as 12h, 30d, 8w or 1y")
    return timedelta(hours=int(match[1]) * _HOURS[match[2]])


@click.command("prune", cls=TeachingCommand)
@click.option(
    "--keep-last",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Records of each URL that stay, the newest; the newest one stays always.",
)
@click.option(
    "--source", "sources", multiple=True, metavar="URL", help="Only records of this URL. Repeatable."
)
@click.option("--older-than", callback=parse_age, metavar="AGE", help="Only records fetched longer ago.")
@click.option(
    "--runs-older-than",
    callback=parse_age,
    metavar="AGE",
    help="What only runs begun longer ago refer to may go too; they cannot be replayed then.",
)
@click.option("--keep", multiple=True, metavar="REF", help="A record that stays. Repeatable.")
@click.option(
    "--keep-list",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="Records that stay, one reference a line.",
)
@click.option("-n", "--dry-run", "is_dry_run", is_flag=True, help="Say what would go, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@common_options
def command(*, as_json: bool, keep_list: Path | None, keep: tuple[str, ...], **wishes: Any) -> int:
    """Remove from the archive what no run refers to any more.

    mudroom prune --dry-run                        (what would go)
    mudroom prune                                  (what belonged to runs that you deleted)
    mudroom prune --runs-older-than 90d            (old runs no longer hold their records)
    mudroom prune --source https://example.org/ --keep-last 5

    What stays, whatever you say: the newest record of each URL, every record that a run
    took in or refers to (delete its folder under runs/ first, or use --runs-older-than),
    records named with --keep, and bodies that a kept record repeats. Other commands may
    read and write meanwhile; what lies in files that they write to is freed by a later
    prune. A reference to a removed record no longer resolves.

    Exit status: 0 done, 1 could not be done.
    """
    common = CommonOptions.current()
    wish = _Wish(keep=(*keep, *_read_list(keep_list)), **wishes)
    report = run_work(_prune(common.load(), wish, SystemClock()))
    if as_json:
        print_json(asdict(report))
    _tell(report, common.voice())
    return ExitStatus.DONE


async def _prune(settings: Settings, wish: _Wish, clock: Clock) -> PruneReport:
    archive = build_archive(settings, clock)
    corpus = build_reading_corpus(settings)
    now = clock.now()
    try:
        # In this order: a run that begins from here on is not among those whose records may go.
        run_ids = await archive.list_run_ids()
        cited = await gather_citations(corpus, runs_since=_before(now, wish.runs_older_than))
        return await archive.prune(
            PruneRule(
                keep_last=wish.keep_last,
                keep=cited.source_refs | set(wish.keep),
                source_ids=_name_sources(wish.sources) if wish.sources else None,
                run_ids=[run_id for run_id in run_ids if run_id not in cited.run_ids],
                older_than=_before(now, wish.older_than),
                is_dry_run=wish.is_dry_run,
            )
        )
    finally:
        await corpus.aclose()
        await archive.aclose()


def _before(now: datetime, age: timedelta | None) -> datetime | None:
    """The moment that long ago; the oldest there is where it would lie before that."""
    if age is None:
        return None
    first = datetime.min.replace(tzinfo=now.tzinfo)
    return first if age > now - first else now - age


def _name_sources(untrusted_urls: tuple[str, ...]) -> list[str]:
    """Every source that a URL can be: a page, a file kept under it, and so on."""
    names = []
    for written in untrusted_urls:
        url = parse_url(complete_url(written).untrusted_url)
        if url is None:
            raise click.UsageError("--source takes a URL, such as https://example.org/page")
        spellings = {written, url.href, url.normalized}
        names += [build_source_id(kind, spelling) for kind in SourceKind for spelling in sorted(spellings)]
    return names


def _read_list(path: Path | None) -> list[str]:
    if path is None:
        return []
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_LIST_BYTES)
    except OSError as error:
        raise click.UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _tell(report: PruneReport, voice: Voice) -> None:
    records = describe_count(report.removed, "record")
    kept = f"{report.retained:,} kept"
    if report.is_dry_run:
        size = describe_size(report.removed_bytes)
        voice.say("would go", f"{records} ({size}), {kept}; nothing was changed")
    else:
        freed = describe_size(report.freed_bytes)
        voice.say("pruned", f"{records} removed, {kept}, {freed} freed")
    if report.waiting_bytes:
        size = describe_size(report.waiting_bytes)
        voice.say("waiting", f"{size} lie in files that are being written to; a later prune frees them")
    for name in report.damaged:
        voice.insist("damaged", f"{name} was left as it is; mudroom rebuild says what is whole in it")
