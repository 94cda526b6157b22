"""Words, signs and sentences of the world."""
