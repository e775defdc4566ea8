"""Parts are chosen and joined here, once."""
