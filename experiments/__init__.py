"""Experiments: the tables of the paper, real corpora of isolated signs, and what each part adds."""
