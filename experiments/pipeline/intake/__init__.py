"""Import: files, or whatever else Spark reads, into a dataset folder of checked Parquet parts.

    sources, request   which files make which table, and what a user wants of them
    prepare            Arrow files and other encodings, made into what Spark reads
    csv_files, json_files, typed_files, spark_source   sources as Spark DataFrames of columns, before any check (`frames.Opened`)
    resolve            the columns a table gets             declared types before inferred ones; files that disagree
    values, checked    values of the right types or reasons why not, in Spark SQL; written by Spark, good rows and rejected ones
    keys               duplicates of keys, dangling foreign keys   Spark joins over the parts
    finish             parts without the rows those checks removed, one task a part
    run                all of it, restartable; `planscope data import`

A damaged file among others of its table is put aside with the reason. Every row of the others ends either in a part or, with the
reason, among the rejected rows: the two add up to the rows read.
"""
