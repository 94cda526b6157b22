"""Corpora of continuous signing: footage, subtitles, labels, splits and, where it is known, the truth."""
