"""Datasets made by Spark tasks: `planscope data generate` and the built-in datasets.

In: a kind of dataset, a scale, a folder. Out: a dataset folder with tables, schema.sql, the orders that rows are stored in, and a
manifest. Read `recipe` (what a kind has to say), `generate` (from a recipe to a folder), `parts` (files made by tasks, those
there already left alone), `kinds` (all recipes), `tpch` and `tpcds` (generators that are programs).
"""
