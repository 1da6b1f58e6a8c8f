"""The pictures of planscope: memos, plans and searches as SVG, PNG, PDF, DOT, text, JSON and networkx graphs.

    from memo_viz import memo_graph
    graph = memo_graph(explanation.memo.state)

In: the events of a trace, a `MemoState` that the replayer rebuilt from it, or a `PlanNode` tree. Read in this order: `names`
(what groups are called), `graph` (a memo as a networkx graph, and parts of it), `difference` (two of them as one), `dot` (that
graph as DOT; `overview` and `relation_sets` where it is large), `growth` (as an animation), `listing` (text), `export` (JSON);
`plan_graph`, `join_graph`, `rewrite_steps`, `rule_graph`, `trait_ledger` (other pictures), `pictures` (all of them by name);
`matching` and `comparison` (two searches side by side; `comparison_page` in a browser); `explain` (a plan as text and JSON, with
what a search did), `q_error`; `words` (events as sentences); `svg` (DOT as SVG, PNG, PDF), `style` (colours), `page_style` (of
pages to be read), `text` (how a user's text is made safe).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memo_viz.graph import memo_graph as memo_graph

__all__ = ["memo_graph"]


def __getattr__(name: str) -> Any:
    """Looked up when it is used: whoever wants texts made safe needs no networkx."""
    if name == "memo_graph":
        from memo_viz.graph import memo_graph

        return memo_graph
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
