"""WARC 1.1 records as bytes: built and read."""
