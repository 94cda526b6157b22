"""Measurements of the applications, on the signing world and on real isolated signs where they suffice."""
