"""The tables and figures of the paper, on synthetic signing."""
