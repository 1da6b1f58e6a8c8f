"""Pipelines: stages in order, from one TOML file to one folder.

`spec` reads the file and checks all of it; `data_stages` and `sweep_stages` adapt the parts of experiments.pipeline to what
`stage` asks of each; `run` runs them, skipping what is done; `state` remembers how each went; `status` tells.
"""
