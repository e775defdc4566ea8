"""Types, charsets and content codings: what bytes are, read within bounds."""
