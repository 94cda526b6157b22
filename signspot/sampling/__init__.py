"""Sampling: which windows and exemplars make up a batch (Sec. 3.3), as places, not as features."""
