"""planscope data: datasets, where they are, what they hold, how they are made."""

from experiments.commands.groups import CommandGroup

PARTS = {  # name -> what `planscope data --help` says
    "generate": "Make a dataset: TPC-H, TPC-DS, join graphs, or rows like IMDB's.",
    "import": "Make a dataset of CSV, JSON, Parquet or JDBC tables, checking every row.",
    "analyze": "Measure a dataset: distinct counts, common values, histograms, keys.",
    "show": "Show the tables of a dataset, their keys and statistics.",
    "path": "Print the folder of a dataset; a built-in one is made if need be.",
}
command = CommandGroup("data", __name__, PARTS, help="Datasets: where they are, what they hold, how they are made.")
