"""Mouthing: clips of lips out of the synthetic corpus, the training of the spotter, and what it is worth."""
