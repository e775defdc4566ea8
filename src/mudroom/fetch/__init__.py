"""One URL to its bytes: redirects judged hop by hop, results bounded."""
