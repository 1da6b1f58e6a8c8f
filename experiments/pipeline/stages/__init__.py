"""Pipelines: stages in order, from one TOML file to one folder.

`spec` reads the file, checks all of it and makes stages of its tables; `run` runs them, skipping what is done, remembers how each
went, and tells.
"""
