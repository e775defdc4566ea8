"""A jail opened, fed, bounded, closed."""
