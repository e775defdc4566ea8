"""What runs inside the jail."""
