"""Losses: tensors in, a scalar out; no files, words or seconds."""
