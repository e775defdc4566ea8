"""One page of an accepted document, scanned by itself before it is handed on."""

from __future__ import annotations

from mudroom.address import parse_url, site_of
from mudroom.errors import Code, GuestFailed
from mudroom.intake import Guests
from mudroom.mcp.ports import ExcerptVerdict
from mudroom.model import ExposedForm, ExposedText, ScanRequest, SecurityText
from mudroom.screen import judge_findings
from mudroom.wire import digest_scan_request

__all__ = ["GuestExcerptScreen"]


class GuestExcerptScreen:
    """Judges pages with the same jailed scanner that judged the whole document."""

    def __init__(self, guests: Guests) -> None:
        self._guests = guests

    async def judge_excerpt(self, text: str, *, final_url: str, run_id: str) -> ExcerptVerdict:
        """The verdict on exactly this text.

        Raises: GuestFailed when the scan did not finish, or was one of another text.
        """
        request = ScanRequest(
            exposed=(ExposedText(form=ExposedForm.MARKDOWN, text=text),),
            security_text=SecurityText.from_pieces(()),
        )
        url = parse_url(final_url)
        report = await self._guests.scan(
            request, site=site_of(url) if url is not None else final_url, run_id=run_id
        )
        if report.request_sha256 != digest_scan_request(request):
            raise GuestFailed(Code.SCANNER_FAILURE, "the scanner answered for another text")
        decision, _ = judge_findings(report.findings)
        ids = tuple(sorted({finding.id for finding in report.findings}))
        return ExcerptVerdict(decision=decision, finding_ids=ids)
