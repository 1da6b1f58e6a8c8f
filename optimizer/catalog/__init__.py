"""Tables, keys and statistics of a dataset, and where they are read from.

In: a folder of Parquet, CSV or Arrow files, and the declarations of its `schema.sql` (parsed in `optimizer.sql.schema`;
`optimizer.dataset` joins the two). Out: a `Catalog`, which the binder, the estimators and the executors read.
Read in this order: `table` (what a catalog says), `types` (the Arrow types a column may have), `declarations` (what
schema.sql may say), `folder` (which files make which table), `facts` with `parquet_files`, `csv_files` and `arrow_files`
(what the files say), `order` (how rows are stored), `statistics` (what an analysis found), `dataset` (all of it put together
and checked).
"""
