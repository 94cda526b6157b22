"""Pixels or landmarks in, embeddings out: windows of videos, exemplars, tracks on disk."""
