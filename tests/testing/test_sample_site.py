import asyncio
import re
from pathlib import PurePosixPath

import pytest

from mudroom.model import OutcomeKind
from mudroom.testing.routes import Route
from mudroom.testing.sample_site import NEVER_REQUESTED, SAMPLE_EXPECTATIONS, SAMPLE_FILE, sample_routes
from mudroom.testing.seen import SeenRequest
from mudroom.testing.server import SiteServer

ROUTES = {route.path: route for route in sample_routes()}
HREF = re.compile(r'<(?:a|img|link)\b[^>]*\b(?:href|src)="([^"#]+)')


def body_of(path: str) -> bytes:
    body = ROUTES[path].body
    assert isinstance(body, bytes)
    return body


def test_every_expected_page_is_linked_from_the_front_page() -> None:
    linked = set(HREF.findall(body_of("/").decode()))
    assert set(SAMPLE_EXPECTATIONS) - linked == set()


def test_every_page_that_is_served_has_an_expectation() -> None:
    pages = {
        path
        for path in ROUTES
        if PurePosixPath(path).suffix not in {".svg", ".png", ".css"}
        and path != "/robots.txt"
        and "*" not in path
    }
    assert pages - set(SAMPLE_EXPECTATIONS) - set(NEVER_REQUESTED) == set()


@pytest.mark.parametrize(
    "path", [path for path, row in SAMPLE_EXPECTATIONS.items() if row.outcome is OutcomeKind.STORED]
)
def test_links_of_honest_pages_lead_somewhere(path: str) -> None:
    if path not in ROUTES or not str(ROUTES[path].content_type).startswith("text/html"):
        return
    for href in HREF.findall(body_of(path).decode("latin-1")):
        if href.startswith(("http:", "mailto:")):
            continue
        target = (
            href
            if href.startswith("/")
            else str(PurePosixPath(path).parent / href)
            if not path.endswith("/")
            else path + href
        )
        assert target in ROUTES or target in SAMPLE_EXPECTATIONS, (path, href)


@pytest.mark.parametrize(
    "path", [path for path, row in SAMPLE_EXPECTATIONS.items() if row.outcome is not OutcomeKind.STORED]
)
def test_only_what_is_withheld_needs_a_code(path: str) -> None:
    assert SAMPLE_EXPECTATIONS[path].codes


def test_no_placeholder_is_left_in_a_page() -> None:
    for path, route in ROUTES.items():
        if isinstance(route.body, bytes) and str(route.content_type).startswith("text/html"):
            assert b"{{" not in route.body, path


def test_legacy_pages_are_in_the_charset_they_declare() -> None:
    assert "größer: " in body_of("/de/gezeiten.html").decode("cp1252")
    assert b"charset=" not in body_of("/de/gezeiten.html")
    assert "能登半島のソラマメ" in body_of("/ja/shio.html").decode("shift_jis")
    assert ROUTES["/ja/shio.html"].content_type == "text/html"


def test_hidden_words_are_not_in_plain_view() -> None:
    assert b"\xf3\xa0\x81\x89" in body_of("/hostile/invisible-characters.html")  # tag capital I
    assert "I\u200bg\u200bn" in body_of("/hostile/invisible-characters.html").decode()
    assert "Ignore" not in body_of("/hostile/base64.html").decode()
    assert "Ignore all previous" in SAMPLE_FILE.read_text()


def test_the_site_is_the_same_every_time() -> None:
    assert {route.path: route.body for route in sample_routes()} == {
        path: route.body for path, route in ROUTES.items()
    }


@pytest.mark.parametrize(
    ("path", "links"),
    [
        (
            "/hostile/calendar/2026/12.html",
            ["/hostile/calendar/2027/01.html", "/hostile/calendar/2027/12.html"],
        ),
        ("/hostile/calendar/2026/x.html", []),
        ("/hostile/calendar/", []),
    ],
)
def test_the_calendar_never_ends_and_knows_its_months(path: str, links: list[str]) -> None:
    answer = ROUTES["/hostile/calendar/*"].answer
    assert answer is not None
    route = answer(SeenRequest(method="GET", target=path, headers=(), body=b"", connection=1, is_tls=False))
    assert isinstance(route, Route)
    assert [href for href in HREF.findall(str(route.body)) if "calendar" in href] == links


async def test_the_whole_site_can_be_served() -> None:
    async with SiteServer(*ROUTES.values()) as site:
        for path in ROUTES:
            if path == "/hostile/endless.html" or "*" in path:
                continue
            reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            assert (await reader.readline()).startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 302 ")), path
            await reader.read()
            writer.close()
