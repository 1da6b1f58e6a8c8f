"""The documentation: pages whose code runs as printed, pages written from the code, and the site made of both.

In: docs/. Out: the site in build/site (`make docs`); what pages show, written into them (`python -m experiments.documentation`).
Read blocks.py (what a page is made of), run.py (a page is carried out), written.py (pages from the code), notebooks.py, site.py.
"""
