"""What spotting is for: looking signs up, grouping them, comparing them, searching archives, waking devices."""
