"""Protocols that measure the spotter on any corpus."""
