"""How well it works: rankings, places, detections, classes, and how sure we may be of each number."""
