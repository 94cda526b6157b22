"""Measurements of the applications, on synthetic signing and on real isolated signs where they suffice."""
