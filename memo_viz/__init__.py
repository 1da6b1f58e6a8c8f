"""The pictures of planscope: memos and plans as SVG, text and JSON.

In: a `MemoState` that the replayer rebuilt from a trace, or a `PlanNode` tree. Read in this order: `graph` (a memo as a
networkx graph, and parts of it), `dot` (that graph as DOT), `listing` (as text), `export` (as JSON); `plan_graph` (a plan as
DOT), `explain` (as text and JSON, with what a search did), `q_error`; `svg` (DOT as SVG), `text` (how a user's text is made
safe).
"""
