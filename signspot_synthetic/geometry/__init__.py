"""Turns, limbs and framings: the geometry that signs, signers and cameras share."""
