"""Mouthing: whether and where a signer mouths a word (Sec. 3.1), the source of the labels M."""
