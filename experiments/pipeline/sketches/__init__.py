"""Mergeable summaries of columns, all made from counted values: (value, how often)."""
