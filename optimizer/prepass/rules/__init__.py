"""Pre-pass rewrites, one a file; each states its equivalence and its guards."""
