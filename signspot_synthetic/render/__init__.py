"""From landmarks to pictures."""
