"""Target engines: which operators they have, how orders travel through them, what they cost."""
