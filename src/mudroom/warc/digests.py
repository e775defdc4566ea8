"""Whether a digest that somebody wrote into a record holds."""

from __future__ import annotations

import base64
import hashlib

__all__ = ["does_digest_hold"]

_ALGORITHMS = {"sha1": "sha1", "sha-1": "sha1", "sha256": "sha256", "sha-256": "sha256", "sha512": "sha512",
               "sha-512": "sha512", "md5": "md5"}  # fmt: skip


def does_digest_hold(untrusted_digest: str, *contents: bytes) -> bool | None:
    """Whether the digest is that of one of the contents; None where there is none that can be judged.

    Shapes: `algorithm:value`, the value in hex or base32, as the writers of the field have it.
    Source: WARC/1.1 section 5.8.
    """
    name, colon, value = untrusted_digest.strip().partition(":")
    algorithm = _ALGORITHMS.get(name.strip().lower())
    if not colon or algorithm is None:
        return None
    wanted = value.strip().lower().rstrip("=")
    for content in contents:
        digest = hashlib.new(algorithm, content, usedforsecurity=False)
        base32 = base64.b32encode(digest.digest()).decode().lower().rstrip("=")
        if wanted in {digest.hexdigest(), base32}:
            return True
    return False
