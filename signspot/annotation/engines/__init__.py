"""Who does the work: processes on this machine, or a Ray cluster. The same plan gives the same result on each."""
