"""From a video to spottings: embed, compare, find peaks."""
