"""Annotation measured on signing worlds with exact truth."""
