"""Whether a search was right: its pruning ledger, and every claim of it compared with the true optima of the same memo."""
