"""`mudroom verify`: the chain from bytes to what lies in pages/, done again and compared."""

from __future__ import annotations

from typing import Any

import click

from mudroom.assembly import Study, open_study
from mudroom.cli.console import Voice, print_json
from mudroom.cli.exits import ExitStatus
from mudroom.cli.options import CommonOptions, common_options
from mudroom.cli.proofs import describe_difference, describe_proof, tell_differences, tell_proof
from mudroom.cli.teaching import TeachingCommand
from mudroom.cli.work import run_work
from mudroom.replay import (
    PageProof,
    PageTarget,
    RefProof,
    RefTarget,
    RunProof,
    RunTarget,
    UrlTarget,
    find_target,
    name_ref,
)
from mudroom.settings import Settings

__all__ = ["command"]


@click.command("verify", cls=TeachingCommand)
@click.argument("name", metavar="REF|RUN")
@click.option(
    "--json", "as_json", is_flag=True, help="What was checked, and what differs, as one JSON document."
)
@common_options
def command(*, name: str, as_json: bool) -> int:
    """Check that what was recorded is what comes of the bytes again.

    mudroom verify @last           (every page of the newest run, and the order of a crawl)
    mudroom verify @last/3         (its third page)
    mudroom verify 'mudroom-snapshot:page%3A%3Ahttps…'

    The chain is done again from the archive: bytes, their digest, extraction, scan, decision, the
    text in pages/. The first stage that differs is named. What another version of the program,
    its rules or its policy reads otherwise is named as that. Nothing is fetched and nothing is
    changed.

    Exit status: 0 holds, 3 does not hold, 1 could not be done.
    """
    common = CommonOptions.current()
    settings = common.load()
    proof = run_work(_verify(settings, name))
    if as_json:
        print_json(_describe(proof))
    _tell(proof, common.voice())
    return ExitStatus.DONE if proof.holds else ExitStatus.NEGATIVE


Proof = RunProof | RefProof | PageProof


async def _verify(settings: Settings, name: str) -> Proof:
    async with open_study(settings) as study:
        return await _verify_target(study, name)


async def _verify_target(study: Study, name: str) -> Proof:
    match await find_target(study.corpus, name):
        case RunTarget(run_id=run_id):
            return await study.verifier.verify_run(run_id)
        case PageTarget(run_id=run_id, number=number):
            return await study.verifier.verify_page(run_id, number)
        case RefTarget(source_ref=source_ref):
            return await study.verifier.verify_ref(source_ref)
        case UrlTarget():
            raise click.UsageError("a URL has a history, not a proof; list it with: mudroom inspect URL")


def _describe(proof: Proof) -> dict[str, Any]:
    value: dict[str, Any] = {"schema": "mudroom.proof/1", "holds": proof.holds}
    match proof:
        case RunProof():
            value |= {
                "run_id": proof.run_id,
                "checked": proof.checked,
                "pages": [describe_proof(page) for page in proof.failures],
                "order": [describe_difference(each) for each in proof.order],
                "order_skipped": proof.order_skipped or None,
            }
        case RefProof():
            value |= {
                "source_ref": proof.source_ref,
                "code": proof.error.code.value if proof.error else None,
                "message": proof.error.message if proof.error else None,
                "pages": [describe_proof(page) for page in proof.pages],
            }
        case PageProof():
            value |= {"run_id": proof.run_id, "checked": 1, "pages": [describe_proof(proof)]}
    return value


def _tell(proof: Proof, voice: Voice) -> None:
    match proof:
        case RunProof():
            _tell_run(proof, voice)
        case RefProof():
            _tell_ref(proof, voice)
        case PageProof():
            if proof.holds:
                voice.say("holds", f"page {proof.number} of {proof.run_id}")
            else:
                tell_proof(proof, voice)


def _tell_run(proof: RunProof, voice: Voice) -> None:
    for page in proof.failures:
        tell_proof(page, voice)
    if proof.order:
        voice.insist("DIFFERS", f"the order of {proof.run_id}")
        tell_differences(proof.order, voice)
    if proof.order_skipped:
        voice.say("note", f"the order of its pages was not checked: {proof.order_skipped}")
    pages = "1 page" if proof.checked == 1 else f"{proof.checked} pages"
    if proof.holds:
        voice.say("holds", f"{proof.run_id}: {pages}, from bytes to text")
    else:
        voice.insist("DIFFERS", f"{proof.run_id}: {len(proof.failures)} of {pages} do not hold")


def _tell_ref(proof: RefProof, voice: Voice) -> None:
    name = name_ref(proof.source_ref)
    if proof.error is not None:
        voice.insist(proof.error.code.value, f"{name}: {proof.error.message}")
        voice.say("help", proof.error.advice)
        return
    for page in proof.pages:
        if not page.holds:
            tell_proof(page, voice)
    if proof.holds:
        more = "bytes, and what its run made of them" if proof.pages else "its bytes; no run here reads them"
        voice.say("holds", f"{name}: {more}")
