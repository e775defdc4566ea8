"""One failure for many: each who shares it raises an error of its own."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["renew"]

Error = TypeVar("Error", bound=BaseException)


def renew(error: Error) -> Error:
    """A new error that says the same, with the first as its cause.

    Why: an error that is raised a thousand times grows by a traceback each time, and tells each of its callers
    of all the others. One of a host's own class that lets no other be made like it is given itself: what matters
    most is that whoever waits hears of it.
    """
    try:
        fresh = type(error).__new__(type(error), *error.args)
        fresh.__dict__.update(error.__dict__)
    except Exception:  # noqa: BLE001 - whatever a host's class does here, its callers must not wait for ever
        return error
    if "__notes__" in fresh.__dict__:
        fresh.__dict__["__notes__"] = list(fresh.__dict__["__notes__"])
    # Past a `__setattr__` of its own: a frozen dataclass refuses.
    BaseException.__setattr__(fresh, "__cause__", error)
    return fresh
