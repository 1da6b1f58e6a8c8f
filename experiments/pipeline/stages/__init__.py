"""Pipelines: stages in order, from one TOML file to one folder.

`spec` reads the file and checks all of it; `stages` adapts the parts of experiments.pipeline; `run` runs them, skipping what is
done, and remembers how each went; `status` tells.
"""
