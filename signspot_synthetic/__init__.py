"""Synthetic signing: an invented sign language, its signers, their videos and the exact truth."""
