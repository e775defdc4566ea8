"""Which page next, and how politely."""
