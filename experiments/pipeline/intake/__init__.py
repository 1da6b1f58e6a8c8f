"""Import: files, or whatever else Spark reads, into a dataset folder of checked Parquet parts.

    sources    which files make which table
    look       what each file holds, one task a file       headers, stored types, types that all values of a text column have
    resolve    the columns a table gets                    declared types before inferred ones; files that disagree
    convert    raw parts and rejected rows, one task a file
    keys       duplicates of keys, dangling foreign keys   Spark joins over the raw parts
    finish     parts without the rows those checks removed, one task a part
    run        all of it, restartable; `planscope data import`

A damaged file among others of its table is put aside with the reason. Every row of the others ends either in a part or, with the
reason, among the rejected rows: the two add up to the rows read.
"""
