"""Spottings made visible: plot, video, report."""
