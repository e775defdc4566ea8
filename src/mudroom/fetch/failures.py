"""One failure for many: each who shares it raises an error of its own."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["renew"]

Error = TypeVar("Error", bound=BaseException)


def renew(error: Error) -> Error:
    """A new error that says the same, with the first as its cause.

    Why: an error that is raised a thousand times grows by a traceback each time, and tells each of its callers
    of all the others.
    """
    fresh = type(error).__new__(type(error), *error.args)
    fresh.__dict__.update(error.__dict__)
    fresh.__cause__ = error
    return fresh
