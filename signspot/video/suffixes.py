"""Suffixes of files that hold signing; light to import, so that arguments are told apart before anything loads."""

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".mpeg"}
    | {".wmv", ".flv", ".ogv", ".3gp", ".ts", ".mts", ".asf"}
)
MEDIA_SUFFIXES = VIDEO_SUFFIXES | {".pose"}  # videos, and landmarks in their place
