"""Video: files become frames with times, and pictures become files. Suffixes are here: they load nothing heavy."""

VIDEO_SUFFIXES = frozenset(
    {".mp4", ".m4v", ".mov", ".webm", ".mkv", ".avi", ".mpg", ".mpeg"}
    | {".wmv", ".flv", ".ogv", ".3gp", ".ts", ".mts", ".asf"}
)
MEDIA_SUFFIXES = VIDEO_SUFFIXES | {".pose"}  # videos, and landmarks in their place
