"""Built-in datasets and queries: `data` opens a dataset by folder or name, `queries` finds SQL text by name.

A folder here holds one workload: its queries (`NAME.sql`), one line on each (`index.csv`), its schema, and SOURCE.md with
origin and licence. Data is made on first use (`generated_data`) and kept in the cache folder (`cache`).
"""
