"""Which of K words a clip shows: a trunk with a classifier."""
