"""A small site to try things on: some twenty honest pages, and the bad neighbourhood."""

from mudroom.testing.sample_site.expectations import NEVER_REQUESTED, SAMPLE_EXPECTATIONS, Expectation
from mudroom.testing.sample_site.site import SAMPLE_FILE, sample_routes

__all__ = ["NEVER_REQUESTED", "SAMPLE_EXPECTATIONS", "SAMPLE_FILE", "Expectation", "sample_routes"]
