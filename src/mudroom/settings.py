"""File and environment are read here, once."""
