"""Measurements of the applications, one file each: `python -m experiments.applications.feedback --help`."""
