"""Scrapy on the same site: following links only, or with the nearest equal work.

Usage: python benchmarks/peers/scrapy_crawl.py links|full SEED OUTPUT_FOLDER
The full work is what a user would put together: trafilatura's Markdown into a file and the
response into a WARC by warcio. There is no guard, jail or scan to compare with.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess

MODE, SEED, OUTPUT = sys.argv[1], sys.argv[2], Path(sys.argv[3])


class DocsSpider(scrapy.Spider):
    """Every page of one host."""

    name = "docs"
    start_urls = [SEED]  # noqa: RUF012 - scrapy's convention
    allowed_domains = [urlsplit(SEED).hostname]  # noqa: RUF012

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.pages = 0
        self.seen: set[str] = set()
        if MODE == "full":
            from warcio.warcwriter import WARCWriter

            self.file = (OUTPUT / "peer.warc.gz").open("wb")
            self.writer = WARCWriter(self.file, gzip=True)

    def parse(self, response: scrapy.http.Response) -> object:
        self.pages += 1
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        if MODE == "full":
            self.keep(response)
        for href in response.xpath("//a/@href").getall():
            url = response.urljoin(href).partition("#")[0]
            if url not in self.seen:  # spares Scrapy a request and a fingerprint for each repeated link
                self.seen.add(url)
                yield scrapy.Request(url, self.parse)

    def keep(self, response: scrapy.http.HtmlResponse) -> None:
        import trafilatura
        from warcio.statusandheaders import StatusAndHeaders

        markdown = trafilatura.extract(
            response.text, output_format="markdown", include_links=True, include_tables=True, fast=True
        )
        (OUTPUT / f"{self.pages:06d}.md").write_text(markdown or "")
        headers = [(k.decode(), v[0].decode()) for k, v in response.headers.items()]
        block = StatusAndHeaders(f"{response.status} OK", headers, protocol="HTTP/1.1")
        record = self.writer.create_warc_record(
            response.url, "response", payload=io.BytesIO(response.body), http_headers=block
        )
        self.writer.write_record(record)

    def closed(self, _reason: str) -> None:
        print(self.pages)


if __name__ == "__main__":
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": 16,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "AUTOTHROTTLE_ENABLED": False,
            "COOKIES_ENABLED": False,
        }
    )
    process.crawl(DocsSpider)
    process.start()
