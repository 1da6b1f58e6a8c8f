"""Pipelines: stages in order, from one TOML file to one folder.

`spec` reads the file and checks all of it; `stages` adapts the parts of experiments.pipeline; `run` runs them, skipping what is
done, remembers how each went, and tells.
"""
