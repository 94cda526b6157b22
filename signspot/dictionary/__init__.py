"""Words and their exemplars, from folders, tables and public dictionaries."""
