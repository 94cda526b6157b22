"""A landmark trunk learns to tell words apart."""
