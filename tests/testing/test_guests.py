import asyncio

import pytest

from mudroom.errors import Code, GuestFailed
from mudroom.extract import ExtractLimits, ExtractSource
from mudroom.jail import ExtractRequest
from mudroom.model import Channel, Finding, Hiding, ScanRequest, SecurityText, Severity, View
from mudroom.testing.guests import CRASH, NONSENSE, GuestHang, ScriptedGuests, WrongDigest, make_document
from mudroom.wire import digest_scan_request

NOTHING = ScanRequest(exposed=(), security_text=SecurityText.from_pieces(()))
FINDING = Finding(
    id="ROLE-001", severity=Severity.HIGH, category="role", channel=Channel.TEXT, hiding=Hiding.NONE, line=3
)


def page(url: str, body: bytes = b"text") -> ExtractRequest:
    source = ExtractSource(url=url, content_type="text/html", views=frozenset({View.MARKDOWN}))
    return ExtractRequest(body=body, source=source, limits=ExtractLimits())


async def test_a_page_gets_what_is_written_down_for_its_url() -> None:
    known = make_document("# Known\n", title="Known", links=["/next"])
    async with ScriptedGuests({"http://a.test/": known}) as guests:
        assert await guests.extract(page("http://a.test/"), site="http://a.test", run_id="r") is known
        other = await guests.extract(page("http://b.test/", b"as it came"), site="http://b.test", run_id="r")
    assert other.views[View.MARKDOWN] == "as it came"
    assert guests.sites == [("http://a.test", "r"), ("http://b.test", "r")]
    assert not guests.is_open


@pytest.mark.parametrize(("fault", "code"), [(CRASH, Code.GUEST_CRASHED), (NONSENSE, Code.GUEST_PROTOCOL)])
async def test_a_scripted_fault_is_raised_by_either_guest(fault: GuestFailed, code: Code) -> None:
    guests = ScriptedGuests({"http://a.test/": fault}, [fault])
    with pytest.raises(GuestFailed) as extraction:
        await guests.extract(page("http://a.test/"), site="s", run_id="r")
    with pytest.raises(GuestFailed) as scan:
        await guests.scan(NOTHING, site="s", run_id="r")
    assert (extraction.value.code, scan.value.code) == (code, code)


async def test_a_hang_ends_as_a_timeout_when_the_test_says_so() -> None:
    event = asyncio.Event()
    hanging = asyncio.create_task(
        ScriptedGuests(scans=[GuestHang(event)]).scan(NOTHING, site="s", run_id="r")
    )
    event.set()
    with pytest.raises(GuestFailed) as failure:
        await hanging
    assert failure.value.code is Code.GUEST_TIMEOUT


async def test_scans_come_in_turn_and_then_find_nothing() -> None:
    guests = ScriptedGuests(scans=[(FINDING,), WrongDigest()])
    first, second, third = [await guests.scan(NOTHING, site="s", run_id="r") for _ in range(3)]
    assert (first.findings, first.request_sha256) == ((FINDING,), digest_scan_request(NOTHING))
    assert second.request_sha256 != digest_scan_request(NOTHING)
    assert (third.findings, third.request_sha256) == ((), digest_scan_request(NOTHING))
