"""Real continuous signing: Peruvian Sign Language on television, one interpreter searched with signs of another."""
