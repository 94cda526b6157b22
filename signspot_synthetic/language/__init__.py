"""Words, signs and sentences of the language."""
