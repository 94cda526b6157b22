"""Text to words: tokens, lemmas, numbers, synonyms, and dictionary words found in subtitles."""
