"""Corpora of isolated signs, and sources of training pairs made from them."""
