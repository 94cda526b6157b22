"""The tables and figures of the paper, on the signing world."""
