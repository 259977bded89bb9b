"""Results that are kept: stored, found again, shown again, compared, and exported for other programs."""
