"""Signers and how they move."""
