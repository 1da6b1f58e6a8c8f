"""The pictures of planscope: memos and plans as SVG, text and JSON.

In: a `MemoState` that the replayer rebuilt from a trace, or a `PlanNode` tree. Read in this order: `names` (what groups are
called), `graph` (a memo as a networkx graph, and parts of it), `difference` (two of them as one), `dot` (that graph as DOT;
`overview` and `relation_sets` where it is large), `listing` (as text), `export` (as JSON); `plan_graph` (a plan as DOT),
`explain` (as text and JSON, with what a search did), `q_error`; `svg` (DOT as SVG), `style` (colours), `text` (how a user's text
is made safe).
"""
