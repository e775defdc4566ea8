"""The room where untrusted web pages and files come in first."""

__version__ = "0.1.0"
