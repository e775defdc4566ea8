"""Names resolved, addresses pinned, streams opened."""
