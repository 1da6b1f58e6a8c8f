"""Explanations of a finished search: why a plan was not chosen, and what would be if a figure were another.

In: a finished search and its trace. Out: answers, as data and as text. Read `recost` (the memo under other figures, without
exploring again; `changed` makes the figures), then `walk` (a plan through goals and trace) and `why`.
"""
