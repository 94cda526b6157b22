"""Metrics as pure functions: rankings, places, detections against truth, and how sure a number is."""
