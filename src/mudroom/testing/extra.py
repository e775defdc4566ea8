"""What is said where a package of the extra `testing` is not installed."""

from __future__ import annotations

__all__ = ["explain_missing"]


def explain_missing(missing: ModuleNotFoundError, what: str) -> ImportError:
    """The error that says how to get a package without which `what` cannot be had."""
    return ImportError(
        f"{what} needs the package {missing.name}, which comes with the extra: pip install 'mudroom[testing]'",
        name=missing.name,
    )
