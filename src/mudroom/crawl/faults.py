"""An error that nobody foresaw, as a log may hold it."""

from __future__ import annotations

import traceback

__all__ = ["describe_fault"]


def describe_fault(error: BaseException) -> str:
    """Where an error happened and of which type; not its text, which may be a page's."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__name__}\n{frames}"
