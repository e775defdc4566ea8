"""One page or one file: the whole path, told once."""
