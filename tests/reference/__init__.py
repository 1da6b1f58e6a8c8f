"""Independent oracles: what a bound query means (`naive`), and when two results are the same (`compare`)."""
