"""Files, text, XML, pickles and processes: how signspot reads, writes and runs things."""
