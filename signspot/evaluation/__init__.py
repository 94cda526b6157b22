"""Metrics, and protocols that measure the spotter on any corpus."""
