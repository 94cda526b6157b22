"""A landmark encoder learns signs by contrast between performances."""
