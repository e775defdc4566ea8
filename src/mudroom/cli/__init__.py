"""The command line: what a person touches."""
