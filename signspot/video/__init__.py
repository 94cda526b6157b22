"""Frames in and out: from a path to pixels with times, and back."""
