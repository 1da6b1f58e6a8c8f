"""What a dataset holds, for people and programs: a catalog and its statistics as text, JSON or an SVG picture.

In: a `Catalog`, cut down by `selection`. Out: text. Nothing here reads a file.
Read `shown` (values as text), then `spread` (statistics as cells to draw), then `as_text`, `as_chart`, `as_svg`, `as_json`.
"""
