"""Data that is kept of people, and its removal."""
