"""The exact bytes, kept so that they can be cited."""
