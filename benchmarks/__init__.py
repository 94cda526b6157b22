"""Speed and memory of signspot, as ratios in one run: `make bench`."""
