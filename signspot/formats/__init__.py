"""Spottings to and from files of other tools."""
