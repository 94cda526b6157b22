"""Subtitle files to timed text."""
