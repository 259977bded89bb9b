"""Results that are kept: stored, found again, shown again, and compared. `exports` exports them."""
