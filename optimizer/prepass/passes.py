"""One pass over the tree in each match order. See `instructions.MatchOrder` for what they mean.

Nothing recurses, so a tree may be of any depth. Each pass visits a vertex once, however many parents it has: all of them see
what became of it. A vertex that is met inside of what it is just being turned into would be met for ever, so that ends the batch
like a state that comes back.
"""

from __future__ import annotations

from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.compiled import RuleTable
from optimizer.prepass.dag import inputs_first, parents_first
from optimizer.prepass.run import Place, Run

_Visit = tuple[Node, Place | None, bool]  # a vertex, its place if that was entered, and whether its inputs are done


def downwards(run: Run, root: Tree, rules: RuleTable, repeat: bool = True, deep: bool = False) -> Tree:
    """Operators before their inputs. At each vertex rules fire until none does, or with `repeat` False once; then the inputs of
    the result are visited. `deep`: a vertex whose inputs have changed is visited again before it is left."""
    built: list[Node] = []
    stack: list[_Visit] = [(root, None, False)]
    while stack:
        node, place, ready = stack.pop()
        if ready:
            assert isinstance(node, Tree) and place is not None
            first = len(built) - len(node.inputs)
            result: Node = run.dag.with_inputs(node, built[first:])
            del built[first:]
            if result is not node:
                if deep and run.stopped is None:
                    stack.append((result, place, False))
                    continue
            elif run.stopped is None and (repeat or len(place.vertices) == 1):
                run.settled[id(node)] = node
        else:
            known = run.known(node)
            if known is None and isinstance(node, Tree) and run.stopped is None:
                place = place or Place()
                run.enter(place, node)
                known = run.fire(place, rules, repeat)
                if known is None:
                    node = place.vertices[-1]
                    stack.append((node, place, True))
                    stack.extend([(below, None, False) for below in reversed(node.inputs)])
                    continue
            result = node if known is None else known
        if place is not None:
            run.leave(place, result)
        built.append(result)
    assert isinstance(built[0], Tree)
    return built[0]


def upwards(run: Run, root: Tree, rules: RuleTable, repeat: bool = True, again: bool = False) -> Tree:
    """Inputs before their operator, at which rules then fire until none does, or with `repeat` False once; inputs that they make
    are not visited. `again`: after each firing the result is visited anew, from its leaves; all else below has settled."""
    built: list[Node] = []
    stack: list[_Visit] = [(root, None, False)]
    while stack:
        node, place, ready = stack.pop()
        if ready:
            assert isinstance(node, Tree) and place is not None
            first = len(built) - len(node.inputs)
            vertex = run.dag.with_inputs(node, built[first:])
            del built[first:]
            known = None if vertex is node else run.known(vertex)
            if known is None:
                if vertex is not node:
                    run.enter(place, vertex)
                if not again:
                    known = run.fire(place, rules, repeat)
                elif run.stopped is None and (after := run.ask(vertex, rules)) is not None:
                    stack.append((after, place, False))
                    continue
                if run.stopped is None and (again or len(place.vertices) == 1) and known is None:
                    run.settled[id(vertex)] = vertex
                vertex = place.vertices[-1]
            result: Node = vertex if known is None else known
        else:
            known = run.known(node)
            if known is None and isinstance(node, Tree) and run.stopped is None:
                place = place or Place()
                run.enter(place, node)
                stack.append((node, place, True))
                stack.extend([(below, None, False) for below in reversed(node.inputs)])
                continue
            result = node if known is None else known
        if place is not None:
            run.leave(place, result)
        built.append(result)
    assert isinstance(built[0], Tree)
    return built[0]


def from_the_root(run: Run, root: Tree, rules: RuleTable) -> Tree:
    """Operators before their inputs, and after each firing again from the root, until nothing fires."""
    states = run.states()
    states.add(root, len(run.firings))
    silent: set[int] = set()
    while run.stopped is None:
        for vertex in parents_first(root):
            if id(vertex) in silent:
                continue
            after = run.ask(vertex, rules)
            if after is not None:
                root = run.dag.replaced(root, vertex, after)
                since = states.add(root, len(run.firings))
                if since is not None:
                    run.came_back(since)
                break
            if run.stopped is not None:
                break
            silent.add(id(vertex))
        else:
            break
    return root


def once_anywhere(run: Run, root: Tree, rules: RuleTable, leaves_first: bool) -> Tree:
    """One firing, at the first vertex of the order at which a rule applies."""
    for vertex in inputs_first(root) if leaves_first else parents_first(root):
        after = run.ask(vertex, rules)
        if after is not None:
            return run.dag.replaced(root, vertex, after)
        if run.stopped is not None:
            break
    return root
