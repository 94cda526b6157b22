"""Mouthing: clips of lips out of the world, the training of the spotter, and what it is worth."""
