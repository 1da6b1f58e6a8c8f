"""Pipelines: stages in order, from one TOML file to one folder.

`spec` reads the file and checks all of it; each stage is a module (`generate_stage` …) that adapts one part of
experiments.pipeline; `run` runs them, skipping what is done; `state` remembers how each went; `status` tells.
"""
