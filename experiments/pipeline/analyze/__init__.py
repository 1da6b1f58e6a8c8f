"""Statistics of a dataset: sketched in Spark tasks, merged, checked, written beside the data."""
