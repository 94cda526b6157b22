"""Finds signs in signing video."""
