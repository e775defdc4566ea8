"""`mudroom crawl --dry-run` and `--explain`: what a crawl would do, told before it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mudroom.address import parse_url
from mudroom.assembly import build_reading_corpus, open_explainer
from mudroom.cli.console import Voice, print_json, print_jsonl, print_table
from mudroom.cli.exits import ExitStatus
from mudroom.cli.work import run_work
from mudroom.crawl import CrawlPolicy, page_key
from mudroom.errors import InvalidConfig
from mudroom.settings import Settings

__all__ = ["explain", "preview"]

_MARKS = {True: "yes", False: "no", None: "open"}
_STYLES = {"no": "bold red", "yes": "green", "open": "yellow"}


def preview(
    settings: Settings,
    seeds: Sequence[str],
    policy: CrawlPolicy,
    voice: Voice,
    *,
    as_json: bool,
    as_jsonl: bool,
) -> int:
    """How each crawl would begin; 3 when one would not."""
    policy.check()
    reports = run_work(_preview_all(settings, seeds, policy))
    for report in reports:
        if as_jsonl:
            print_jsonl(report)
        elif not as_json:
            _show(report)
            _tell(report, voice)
    if as_json:
        print_json(reports if len(seeds) > 1 else reports[0])
    return ExitStatus.DONE if all(report["would_fetch"] for report in reports) else ExitStatus.NEGATIVE


def explain(
    settings: Settings,
    seed: str,
    policy: CrawlPolicy,
    untrusted_url: str,
    *,
    run: str | None,
    as_json: bool,
    as_jsonl: bool,
) -> int:
    """Why a URL would be in the crawl or not, and what became of it in a run; 3 when it would not be."""
    report = run_work(_explain(settings, seed, policy, untrusted_url, run))
    if as_json or as_jsonl:
        (print_json if as_json else print_jsonl)(report)
    else:
        _show(report)
    return ExitStatus.DONE if report["would_fetch"] else ExitStatus.NEGATIVE


async def _preview_all(
    settings: Settings, seeds: Sequence[str], policy: CrawlPolicy
) -> list[Mapping[str, Any]]:
    async with open_explainer(settings) as explainer:
        return [await explainer.preview(_parse(seed), policy) for seed in seeds]


async def _explain(
    settings: Settings, seed: str, policy: CrawlPolicy, untrusted_url: str, run: str | None
) -> dict[str, Any]:
    async with open_explainer(settings) as explainer:
        explanation = await explainer.explain(_parse(seed), policy, untrusted_url)
    report = explanation.describe()
    if run is not None:
        report["steps"].append(await _find_in_run(settings, run, explanation.key))
    return report


async def _find_in_run(settings: Settings, run: str, key: str | None) -> dict[str, Any]:
    """What became of the URL, or of a twin of it, in a run: one more step."""
    corpus = build_reading_corpus(settings)
    try:
        run_id = await corpus.resolve_run(run)
        manifest = await corpus.read_manifest(run_id)
    finally:
        await corpus.aclose()
    for page in manifest["pages"]:
        url = parse_url(page["url"])
        if url is not None and key is not None and page_key(url) == key:
            end = page["code"] or page["outcome"]
            message = f"page {page['n']} of {run_id}, {page['depth']} links from the seed: {end}"
            return {"check": "run", "passes": True, "code": page["code"], "message": message}
    return {"check": "run", "passes": None, "code": None, "message": f"{run_id} has not attempted it"}


def _parse(seed: str) -> Any:
    url = parse_url(seed)
    if url is None:
        raise InvalidConfig(
            "the seed is no URL; expected an absolute one that begins with http:// or https://"
        )
    return url


def _show(report: Mapping[str, Any]) -> None:
    rows = [
        (_MARKS[step["passes"]], step["check"], step["code"] or "", step["message"])
        for step in report["steps"]
    ]
    print_table(("", "check", "code", "why"), rows, _STYLES)


def _tell(report: Mapping[str, Any], voice: Voice) -> None:
    options = report["options"]
    delay, asked = options["delay_seconds"], report["crawl_delay_seconds"]
    voice.say("seed", report["seed"])
    voice.say(
        "would",
        f"fetch at most {options['max_pages']} pages, {options['max_depth']} links deep, scope {options['scope']}",
    )
    if asked is not None:
        voice.say(
            "robots",
            f"asks for {asked:g} s between requests; {delay if delay is not None else 1:g} s is ours",
        )
    if options["discovery"] != "links":
        voice.say("sitemaps", f"{report['sitemaps_named']} named in robots.txt, else /sitemap.xml")
    voice.say("note", "nothing was asked for but robots.txt")
