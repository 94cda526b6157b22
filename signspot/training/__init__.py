"""Learning: from performances of signs to encoders."""
