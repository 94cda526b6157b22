"""The version of signspot."""

VERSION = "0.1.0"
