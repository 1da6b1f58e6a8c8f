"""The join graphs of a query: relations and the predicates that link them, as the search got them.

A networkx graph for each tree of joins, a `DiGraph` so that one-sided joins have a direction:

    "G3"           relation   name, detail (table and filter), rows, columns
    "p0.4"         predicate  of three relations or more: text, kind
    G1 -> G3       texts (the predicates), kind (inner, left, semi, anti, full ...)

Everything comes from a trace: from the joins that the query gave and the columns of their inputs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import graphviz
import networkx as nx

from memo_viz.graph import JOINS
from memo_viz.names import ColumnNames, canonical_group, column_names, group_names
from memo_viz.style import FONT, attribute, drawing, heading, tip
from memo_viz.text import label_text, without_middle, wrap
from optimizer.algebra.printing import number
from optimizer.errors import many
from optimizer.trace.state import MemoState, MExprState

LABELLED = 14  # predicates of a region that are written on its edges; more are only tooltips
_OPEN, _CLOSE = "\x00", "\x01"  # stand around the number of a label
_MARK = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_TOKEN = re.compile(rf"'(?:[^']|'')*'|{_MARK.pattern.replace('(', '').replace(')', '')}| AND |; |[()]|.", re.DOTALL)
_KIND = re.compile(r"(inner|left|right|full|semi|anti|cross|mark|single)\b")


def join_graphs(state: MemoState) -> list[nx.DiGraph]:
    """A graph for each tree of joins of the query as it came into the memo, in the order of the memo."""
    names, columns = group_names(state), column_names(state)
    given: dict[int, MExprState] = {}
    for mexpr in state.mexprs.values():
        if mexpr.logical and mexpr.rule is None and mexpr.op in JOINS and len(mexpr.inputs) > 1:
            given.setdefault(canonical_group(state, mexpr.group), mexpr)
    inputs = {id: [canonical_group(state, i) for i in mexpr.inputs] for id, mexpr in given.items()}
    below = {i for ids in inputs.values() for i in ids}
    found = []
    for root in [group for group in given if group not in below]:
        tree, pending = [], [root]  # its joins, each before those that it reads
        while pending:
            tree.append(pending.pop())
            pending += [i for i in inputs[tree[-1]] if i in given]
        leaves: dict[int, tuple[int, ...]] = {}
        for id in reversed(tree):
            leaves[id] = tuple(leaf for i in inputs[id] for leaf in leaves.get(i, (i,)))
        graph = nx.DiGraph(name=names[root], group=root)
        _add_relations(graph, state, sorted({*leaves[root]}), names, columns)
        for id in tree:
            _add_predicates(graph, given[id], [leaves.get(i, (i,)) for i in inputs[id]], columns)
        found.append(graph)
    return found


def joins_dot(graphs: Sequence[nx.DiGraph], title: str = "") -> str:
    """DOT source, laid out by forces, or in a circle where most relations are linked. Any text is escaped."""
    circle = any(graph.number_of_edges() > 2 * len(graph) for graph in graphs)
    places = {"overlap": "scalexy", "splines": "true", "sep": "+14", "start": "7", "mode": "sgd"}
    dot = drawing("joins", heading(title, ()), layout="circo" if circle else "neato", **places)
    dot.attr("edge", color="#7d8b99", fontname=FONT, fontsize="8.5", fontcolor="#55616d", penwidth="1.4", dir="none")
    for i, graph in enumerate(graphs):
        _draw(dot, graph, f"r{i}")
    return str(dot.source)


def _draw(dot: graphviz.Digraph, graph: nx.DiGraph, prefix: str) -> None:
    labelled = graph.number_of_edges() <= LABELLED
    for node, data in graph.nodes(data=True):
        if data["kind"] == "predicate":
            dot.node(f"{prefix}{node}", label="", shape="diamond", width="0.16", height="0.16", style="filled",
                     fillcolor="#8fa3b5", tooltip=attribute(data["text"]))  # fmt: skip
        else:
            dot.node(f"{prefix}{node}", label=_relation(data))
    for a, b, data in graph.edges(data=True):
        words = " AND ".join(data["texts"])
        one_sided = data["join"] not in ("inner", "cross", "full")
        lines = wrap(words, 34, 3) if labelled else []
        lines = lines if data["join"] == "inner" else [data["join"], *lines]
        dot.edge(
            f"{prefix}{a}",
            f"{prefix}{b}",
            label=_beside(lines) if lines else "",
            tooltip=attribute(f"{data['join']} {words}".strip()),
            labeltooltip=attribute(words),
            len=f"{1.5 + (_width(graph, a) + _width(graph, b)) / 2 + (0.6 if lines else 0):.2f}",
            **({"dir": "forward", "arrowsize": "0.7", "style": "dashed"} if one_sided else {}),
        )


def _beside(lines: Sequence[str]) -> str:
    """The text beside an edge, on white, so that the edge does not cross it."""
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1" BGCOLOR="white">'
    return f"<{table}<TR><TD>{'<BR/>'.join(map(label_text, lines))}</TD></TR></TABLE>>"


def _width(graph: nx.DiGraph, node: str) -> float:
    """Inches, about."""
    data = graph.nodes[node]
    return 0.2 if data["kind"] == "predicate" else 0.075 * min(34, max(len(data["name"]), len(data["detail"]), 10))


def _relation(data: Mapping[str, Any]) -> str:
    lines = [f"<B>{label_text(without_middle(data['name'], 40))}</B>&#160;"]
    if data["detail"] and data["detail"] != data["name"]:
        lines += [label_text(line) for line in wrap(data["detail"].removeprefix(data["name"] + " "), 34, 2)]
    lines.append(f'<FONT COLOR="#55616d">{many(number(data["rows"]), "row")}</FONT>')
    text = tip(f"{data['name']}: {data['detail']}")
    cells = "".join(f"<TR><TD {text}>{line}</TD></TR>" for line in lines)
    look = 'BORDER="1" STYLE="ROUNDED" CELLBORDER="0" CELLSPACING="1" CELLPADDING="1" COLOR="#1f5fa8" BGCOLOR="#eaf2fc"'
    return f"<<TABLE {look}>{cells}</TABLE>>"


def _add_relations(
    graph: nx.DiGraph, state: MemoState, relations: Iterable[int], names: Mapping[int, str], columns: ColumnNames
) -> None:
    for id in relations:
        group = state.groups[id]
        first = state.mexprs[group.logical[0]] if group.logical else None
        detail = columns(first.detail) if first is not None and first.op == "scan" else ""
        graph.add_node(f"G{id}", kind="relation", name=names[id], detail=detail, rows=group.rows, columns=list(group.columns))


def _add_predicates(graph: nx.DiGraph, mexpr: MExprState, sides: list[tuple[int, ...]], columns: ColumnNames) -> None:
    """The predicates of a join whose inputs join the relations `sides`."""
    side = {f"G{id}": i for i, ids in enumerate(sides) for id in ids}
    owner = {label: node for node in side for label in graph.nodes[node]["columns"]}
    for kind, conjunct, labels in conjuncts(mexpr.detail, owner):
        read = list(dict.fromkeys(owner[label] for label in labels))
        text = columns(conjunct[1:-1] if conjunct.startswith("(") and conjunct.endswith(")") else conjunct)
        if len(read) == 2:
            a, b = read if kind in ("inner", "cross") else sorted(read, key=side.__getitem__)
            a, b = (b, a) if graph.has_edge(b, a) and kind == "inner" else (a, b)
            if graph.has_edge(a, b):
                graph.edges[a, b]["texts"].append(text)
            else:
                graph.add_edge(a, b, texts=[text], join=kind)
        elif len(read) > 2:
            node = f"p{mexpr.id}.{graph.number_of_nodes()}"
            graph.add_node(node, kind="predicate", text=text)
            for relation in read:
                graph.add_edge(node, relation, texts=[text], join=kind)


def conjuncts(detail: str, labels: Iterable[str]) -> Iterator[tuple[str, str, list[str]]]:
    """(kind of join, conjunct, labels of columns in it) for each conjunct of a join's payload.

    `inner on (a#1 = b#2) AND (c#3 < d#4); semi on (e#5 = f#6)`. Labels are looked for whole, longest first, and what stands in
    quotes is text, so that no name of a column is taken for a part of the grammar.
    """
    known = sorted(labels, key=len, reverse=True)
    marked = detail.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")
    for i, label in enumerate(known):  # each time the whole text, which takes no longer where labels are alike
        marked = re.sub(rf"{re.escape(label)}(?!\d)", f"{_OPEN}{i}{_CLOSE}", marked)
    kind, text, read, depth = "inner", "", list[str](), 0
    for piece in [*_TOKEN.findall(marked), "; "]:
        if piece[0] == _OPEN:
            read.append(known[int(piece[1:-1])])
        depth += (piece == "(") - (piece == ")")
        if depth == 0 and piece in (" AND ", "; "):
            found = _KIND.match(text)
            kind, text = (found[1], text[found.end() :]) if found else (kind, text)
            whole = _MARK.sub(lambda mark: known[int(mark[1])], text)
            yield kind, whole.removeprefix(" on ").removeprefix("on ").strip(), read
            text, read = "", []
        else:
            text += piece
