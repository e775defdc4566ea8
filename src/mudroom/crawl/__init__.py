"""Which page next, and how politely."""

from mudroom.crawl.cancel import CancelToken
from mudroom.crawl.crawler import Crawler
from mudroom.crawl.events import CrawlEvent, CrawlObserver, SilentObserver
from mudroom.crawl.explaining import Explainer, Explanation, Step
from mudroom.crawl.faults import describe_fault
from mudroom.crawl.keys import page_key
from mudroom.crawl.order import LiveOrder, RecordedOrder, TakeOrder
from mudroom.crawl.orders import Outlet, give_to_nobody
from mudroom.crawl.policy import CrawlPolicy, CrawlScope, Discovery, LinkContext, ShouldFollow
from mudroom.crawl.ports import CrawlParts, PageTaker, RobotsOpener
from mudroom.crawl.retries import read_retries
from mudroom.crawl.shelf import SqliteShelf
from mudroom.crawl.stream import OutcomeStream
from mudroom.crawl.tally import Stop
from mudroom.intake import RobotsMode

__all__ = [
    "CancelToken",
    "CrawlEvent",
    "CrawlObserver",
    "CrawlParts",
    "CrawlPolicy",
    "CrawlScope",
    "Crawler",
    "Discovery",
    "Explainer",
    "Explanation",
    "LinkContext",
    "LiveOrder",
    "OutcomeStream",
    "Outlet",
    "PageTaker",
    "RecordedOrder",
    "RobotsMode",
    "RobotsOpener",
    "ShouldFollow",
    "SilentObserver",
    "SqliteShelf",
    "Step",
    "Stop",
    "TakeOrder",
    "describe_fault",
    "give_to_nobody",
    "page_key",
    "read_retries",
]
