"""What every store of armed hosts promises."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mudroom.fetch import FileHstsStore, HstsEntry, HstsStore, MemoryHstsStore
from mudroom.testing.clocks import FixedClock


@pytest.fixture(params=["memory", "file"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[HstsStore]:
    if request.param == "memory":
        yield MemoryHstsStore()
        return
    async with FileHstsStore(tmp_path / "hsts.json", FixedClock()) as store:
        yield store


def entry(expires_at: float = 2e9, *, include_subdomains: bool = False) -> HstsEntry:
    return HstsEntry(expires_at=expires_at, include_subdomains=include_subdomains)


async def test_what_is_stored_is_there_for_its_host_and_partition_alone(store: HstsStore) -> None:
    store.store("tab", "site.test", entry())
    assert store.load("tab", "site.test") == entry()
    for partition, host in (("", "site.test"), ("tab", "a.site.test"), ("tab", "test"), ("tab", "")):
        assert store.load(partition, host) is None


async def test_the_later_word_counts(store: HstsStore) -> None:
    store.store("", "site.test", entry())
    store.store("", "site.test", entry(3e9, include_subdomains=True))
    assert store.load("", "site.test") == entry(3e9, include_subdomains=True)


async def test_what_is_removed_is_gone_and_removing_nothing_is_fine(store: HstsStore) -> None:
    store.store("", "site.test", entry())
    store.remove("", "site.test")
    store.remove("", "site.test")
    assert store.load("", "site.test") is None


async def test_an_expired_entry_is_still_told_as_it_is(store: HstsStore) -> None:
    store.store("", "site.test", entry(1.0))
    assert store.load("", "site.test") == entry(1.0)
