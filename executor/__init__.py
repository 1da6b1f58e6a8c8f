"""Runs physical plans on Arrow data; `session` is the front door from Python."""
