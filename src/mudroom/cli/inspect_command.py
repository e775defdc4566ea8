"""`mudroom inspect`: what is known of a run, a page, a reference or a URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from mudroom.assembly import build_archive, build_reading_corpus
from mudroom.cli.console import Voice, print_json, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.inert import shorten
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.targets import complete_url
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.clock import SystemClock
from mudroom.replay import Archivist, find_target
from mudroom.settings import Settings

__all__ = ["command"]

_MAX_SHOWN = 20
_WIDTH = 200


@click.command("inspect", cls=TeachingCommand)
@click.argument("name", metavar="REF|RUN|URL")
@click.option("--json", "as_json", is_flag=True, help="All that is known, as one JSON document.")
@common_options
def command(*, name: str, as_json: bool) -> int:
    """Show what is known: where it came from, how it was held, what was found and decided.

    mudroom inspect @last
    mudroom inspect @last/3                       (the third page of the newest run)
    mudroom inspect https://example.org/ --json   (what the archive holds of a URL)
    mudroom inspect 'mudroom-snapshot:page%3A%3Ahttps…'

    Nothing is fetched, and nothing of a page's text is shown, its title included.

    Exit status: 0 found, 1 nothing found, or a reference whose record is damaged.
    """
    common = CommonOptions.current()
    dossier = run_work(_inspect(common.load(), name))
    if as_json:
        print_json(dossier)
    else:
        _tell(dossier, common.voice())
    is_damaged = dossier["kind"] == "ref" and dossier["archive"]["state"] != "found"
    return ExitStatus.FAILED if is_damaged else ExitStatus.DONE


async def _inspect(settings: Settings, name: str) -> dict[str, Any]:
    corpus, archive = build_reading_corpus(settings), build_archive(settings, SystemClock())
    try:
        is_host = "." in name.partition("/")[0] and not name.startswith(("mudroom-snapshot:", "@"))
        target = await find_target(corpus, complete_url(name).untrusted_url if is_host else name)
        return await Archivist(archive, corpus).describe(target)
    finally:
        await archive.aclose()
        await corpus.aclose()


Rows = list[tuple[str, str]]


def _tell(dossier: Mapping[str, Any], voice: Voice) -> None:
    """Facts as a table of two columns, then tables of what there are several of."""
    match dossier["kind"]:
        case "run":
            _print(_list_run(dossier))
            _print_pages(dossier["pages"], voice)
        case "page":
            _print(_list_page(dossier))
            _print_hops(dossier["page"]["hops"])
            _print_findings(dossier["findings"])
        case "ref":
            _print([("source_ref", dossier["source_ref"]), *_list_archive(dossier["archive"])])
            _print_hops(dossier["archive"].get("hops", ()))
            _print_pages(dossier["pages"], voice)
        case _:
            _print([("url", dossier["url"])])
            _print_pages(dossier["pages"], voice)
            for source in dossier["sources"]:
                _print_history(source["history"], source["kind"], voice)
            return
    _print_history(dossier.get("history", ()), "source", voice)


def _print(rows: Rows) -> None:
    print_table(("fact", "value"), [(name, shorten(value, 2_000)) for name, value in rows], {})


def _list_run(dossier: Mapping[str, Any]) -> Rows:
    run = dossier["run"]
    totals, versions = run["totals"], run["versions"]
    return [
        ("run", str(run["run_id"])),
        ("kind", run["kind"]),
        ("state", run["state"]),
        ("root", run["root_url"]),
        ("started", run["started_at"]),
        ("finished", run["finished_at"] or "not yet"),
        *((name, str(number)) for name, number in totals.items()),
        *((f"version of {part}", version) for part, version in versions.items()),
        *(("asked beside pages", _name_source(source)) for source in dossier["sources"][:_MAX_SHOWN]),
        *(("warning", f"{each['code']}  {each['message']}") for each in run["warnings"][:_MAX_SHOWN]),
    ]


def _name_source(source: Mapping[str, Any]) -> str:
    return f"{source['kind']}  {source['http_status'] or source['code']}  {source['url']}"


def _list_page(dossier: Mapping[str, Any]) -> Rows:
    page = dossier["page"]
    facts = (
        "document_id", "url", "final_url", "outcome", "decision", "code", "message", "http_status", "content_type",
        "bytes", "wire_bytes", "sha256", "retrieved_at", "revalidated_at", "imported_at", "initiator", "robots", "isolation",
        "path", "markdown_sha256", "source_ref",
    )  # fmt: skip
    rows = [(name, str(page[name])) for name in facts if page.get(name) is not None]
    rows += [(f"version of {part}", version) for part, version in page["versions"].items()]
    rows += [("warning", warning) for warning in page["warnings"]]
    return rows + ([("archive", _name_state(dossier["archive"]))] if dossier["archive"] else [])


def _list_archive(record: Mapping[str, Any]) -> Rows:
    names = ("url", "status", "fetched_at", "sha256", "bytes", "charset", "run_id")
    known = [(name, str(record[name])) for name in names if record.get(name) is not None]
    return [("archive", _name_state(record)), *known, *record.get("headers", {}).items()]


def _name_state(record: Mapping[str, Any]) -> str:
    return record["state"] if record["state"] == "found" else f"{record['code']}: {record['message']}"


def _print_hops(hops: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (str(hop["status"]), hop["protocol"], hop["address"] or "none", hop["exception"] or "", hop["url"])
        for hop in hops
    ]
    if rows:
        print_table(("status", "protocol", "dialled", "exception", "hop"), rows, {})


def _print_findings(findings: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        (each["id"], each["severity"] or "", each["category"] or "", each["channel"] or "")
        for each in findings
    ]
    if rows:
        print_table(("finding", "severity", "category", "channel"), rows, {})


def _print_pages(pages: Sequence[Mapping[str, Any]], voice: Voice) -> None:
    shown = pages if voice.is_verbose else pages[:_MAX_SHOWN]
    rows = [
        (
            str(page["n"]),
            page["outcome"],
            page["decision"] or "",
            page["code"] or "",
            shorten(page["url"], _WIDTH),
        )
        for page in shown
    ]
    if rows:
        print_table(("n", "outcome", "decision", "code", "url"), rows, {})
    _tell_rest(len(pages) - len(shown), "pages", voice)


def _print_history(history: Sequence[Mapping[str, Any]], kind: str, voice: Voice) -> None:
    shown = history if voice.is_verbose else history[:_MAX_SHOWN]
    rows = [
        (entry["fetched_at"], str(entry["bytes"]), entry["sha256"][:12], entry["source_ref"])
        for entry in shown
        if "source_ref" in entry
    ]
    if rows:
        print_table((f"{kind} at", "bytes", "sha256", "source_ref"), rows, {})
    for entry in shown:
        if "source_ref" not in entry:
            voice.insist(entry["code"], f"the history of this {kind} cannot be read: {entry['message']}")
    _tell_rest(len(history) - len(shown), "snapshots", voice)


def _tell_rest(number: int, noun: str, voice: Voice) -> None:
    if number > 0:
        voice.say("note", f"{number} more {noun}; all of them with --json or --verbose")
