"""Bytes to two readings: what a person sees, and all that a model could see."""
