"""Rules of the memo search, one a file: `transform/` (logical to logical), `implement/` (logical to physical), `enforce/`.

`interface` says what a rule is; `catalog` lists them in order.
"""
