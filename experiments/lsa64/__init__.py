"""Measurements on LSA64."""
