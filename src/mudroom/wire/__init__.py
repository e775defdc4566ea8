"""The frames that cross the wall of the jail."""
