"""The room where untrusted web pages and files come in first."""

import importlib
import sys
from types import MappingProxyType, ModuleType

__version__ = "0.1.0"

__all__ = [
    "Blocked",
    "CookieJar",
    "CrawlPolicy",
    "Failed",
    "FetchRequest",
    "Fetcher",
    "InvalidConfig",
    "JarContext",
    "LinkContext",
    "LoggingContext",
    "NullContext",
    "OpenTelemetryContext",
    "Priority",
    "Quarantined",
    "Seed",
    "Stored",
    "__version__",
    "crawl",
    "crawl_stream",
    "load_settings",
    "open",
    "open_sync",
    "simple",
]

_LIBRARY = MappingProxyType(
    {
        "Blocked": "mudroom.intake:Blocked",
        "CookieJar": "mudroom.fetch:CookieJar",
        "CrawlPolicy": "mudroom.crawl:CrawlPolicy",
        "Failed": "mudroom.intake:Failed",
        "FetchRequest": "mudroom.fetch:FetchRequest",
        "Fetcher": "mudroom.assembly.fetching:Fetcher",
        "InvalidConfig": "mudroom.errors:InvalidConfig",
        "JarContext": "mudroom.fetch:JarContext",
        "LinkContext": "mudroom.crawl:LinkContext",
        "LoggingContext": "mudroom.fetch.logged:LoggingContext",
        "NullContext": "mudroom.fetch:NullContext",
        "OpenTelemetryContext": "mudroom.fetch.otel:OpenTelemetryContext",
        "Priority": "mudroom.fetch:Priority",
        "Quarantined": "mudroom.intake:Quarantined",
        "Seed": "mudroom.assembly.library:Seed",
        "Stored": "mudroom.intake:Stored",
        "crawl": "mudroom.assembly.library:crawl_site",
        "crawl_stream": "mudroom.assembly.library:stream_site",
        "load_settings": "mudroom.settings:load_settings",
        "open": "mudroom.assembly.library:open_target",
        "open_sync": "mudroom.assembly.library:open_target_blocking",
        "simple": "mudroom.simple",
    }
)


class _Library(ModuleType):
    """This package, with the library's names loaded when they are first used.

    Why: `mudroom --help` and the guests in their jails import this package too, and must stay light. And
    `crawl` is both a function of the library and a floor; as an attribute it is the function, whatever the
    import system binds there when the floor is loaded (`from mudroom.crawl import …` finds the floor).
    """

    def __getattr__(self, name: str) -> object:
        if name not in _LIBRARY:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        place, _, attribute = _LIBRARY[name].partition(":")
        module = importlib.import_module(place)
        return getattr(module, attribute) if attribute else module

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _LIBRARY:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_LIBRARY})


sys.modules[__name__].__class__ = _Library
