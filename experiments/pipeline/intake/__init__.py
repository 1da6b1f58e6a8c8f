"""Import: files, or whatever else Spark reads, into a dataset folder of checked Parquet parts.

    sources, request                   which files or tables elsewhere make which table, and what a user wants of them
    prepare                            Arrow files and other encodings, made into what Spark reads
    opened, csv_files, json_files      sources as Spark DataFrames of columns, before any check (`opened.Opened`)
    resolve, declared                  columns of each table, declared types before inferred ones; keys declared and kept
    values                             values of the right types, in Spark SQL
    raw                                a table's rows, with reasons where values fail; good ones end here, rejected ones there
    keys                               duplicates of keys, dangling foreign keys: Spark joins over the parts
    clean                              small CSV tables without a fault, read sooner than Spark would have started
    tables                             all of it, restartable

A damaged file is put aside with the reason, and a table that has no other. Every row of the others ends either in a part or, with
the reason, among the rejected rows: the two add up to the rows read.
"""
