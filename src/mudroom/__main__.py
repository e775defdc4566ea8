"""`python -m mudroom` and the console script."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    from mudroom.cli import run  # noqa: PLC0415 - the command line is loaded only when it is asked for

    run()


if __name__ == "__main__":
    main()
