"""What was accepted, as it lies on disk."""
