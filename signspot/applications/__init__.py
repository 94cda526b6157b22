"""Uses of spotting: looking signs up, grouping them, comparing them, searching archives, waking devices."""
