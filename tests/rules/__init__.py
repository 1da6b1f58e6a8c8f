"""What transformation rules reach, and that everything they reach is equivalent when executed."""
