"""From subtitle files to words: read, cleaned, normalised, lemmatised and matched with a dictionary."""
