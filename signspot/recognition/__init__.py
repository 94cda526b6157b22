"""Classification of a clip into one of K words: a trunk with a classifier."""
