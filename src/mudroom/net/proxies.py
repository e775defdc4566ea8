"""The proxies of the environment, which other programs obey and this one does not."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["list_proxies", "note_proxies"]

_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def list_proxies(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that name a proxy."""
    return tuple(name for name in _VARIABLES if environ.get(name))


def note_proxies(environ: Mapping[str, str]) -> str:
    """A clause that says that a proxy is set in the environment and is not used; empty when none is."""
    names = list_proxies(environ)
    return f" (the environment's proxy was ignored: {', '.join(names)})" if names else ""
