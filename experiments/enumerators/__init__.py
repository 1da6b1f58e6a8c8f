"""Exact join enumerators that are only compared with others (`planscope bench enumeration`): a join graph and a costing in, the
cheapest order out. What the optimizer itself uses is in `optimizer.joins`."""
