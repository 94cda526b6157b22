"""Measurements: a table a file, each number printed by a named command."""
