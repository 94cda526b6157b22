"""A seeded, fully known world of signing: the corpus that everyone has."""
