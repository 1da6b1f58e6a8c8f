"""One pass over the tree in each match order. See `instructions.MatchOrder` for what they mean.

Nothing recurses, so a tree may be of any depth. Each pass visits a vertex once, however many parents it has: all of them see
what became of it. A vertex that is met inside of what it is just being turned into would be met for ever, so that ends the batch
like a state that comes back.
"""

from optimizer.algebra.trees import Node, Tree
from optimizer.prepass.compiled import RuleTable
from optimizer.prepass.dag import inputs_first, parents_first
from optimizer.prepass.run import Place, Run

_Visit = tuple[Node, Place | None, bool]  # a vertex, its place if something fired there, and whether its inputs are done


def downwards(run: Run, root: Tree, rules: RuleTable, repeat: bool = True, deep: bool = False) -> Tree:
    """Operators before their inputs. At each vertex rules fire until none does, or with `repeat` False once; then the inputs of
    the result are visited. `deep`: a vertex whose inputs have changed is visited again before it is left."""
    settled, changed, entered, firings = run.settled, run.changed, run.entered, run.firings
    built: list[Node] = []
    stack: list[_Visit] = [(root, None, False)]
    while stack:
        node, place, ready = stack.pop()
        result: Node | None = None
        if not ready:
            result = settled.get(id(node)) or changed.get(id(node))
            if result is None and isinstance(node, Tree) and run.stopped is None:
                if place is not None or id(node) in entered:
                    run.enter(node, place)
                else:
                    entered[id(node)] = len(firings)
                after = run.ask(node, rules) if run.stopped is None else None
                if after is not None:
                    place = place or Place(node)
                    result = run.fired(place, after, rules, repeat)
                else:
                    result = settled.get(id(node))
                if result is None:
                    node = node if place is None else place.vertices[-1]
                    if node.inputs:
                        stack.append((node, place, True))
                        stack.extend([(below, None, False) for below in reversed(node.inputs)])
                        continue
                    ready = True
        if ready:
            assert isinstance(node, Tree)
            result = node
            if node.inputs:
                first = len(built) - len(node.inputs)
                result = run.dag.with_inputs(node, built[first:])
                del built[first:]
            if run.stopped is None:
                if result is not node:
                    run.rebuilt(node, result)
                    if deep:
                        stack.append((result, place or Place(node), False))
                        continue
                elif repeat or place is None:
                    settled[id(node)] = node
        if result is None:
            result = node
        if place is not None or result is not node:
            run.leave(node, place, result)
        built.append(result)
    assert isinstance(built[0], Tree)
    return built[0]


def upwards(run: Run, root: Tree, rules: RuleTable, repeat: bool = True, again: bool = False) -> Tree:
    """Inputs before their operator, at which rules then fire until none does, or with `repeat` False once; inputs that they make
    are not visited. `again`: after each firing the result is visited anew, from its leaves; all else below has settled."""
    settled, changed = run.settled, run.changed
    built: list[Node] = []
    stack: list[_Visit] = [(root, None, False)]
    while stack:
        node, place, ready = stack.pop()
        result: Node | None
        if not ready:
            result = settled.get(id(node)) or changed.get(id(node))
            if result is None and isinstance(node, Tree) and run.stopped is None:
                run.enter(node, place)
                stack.append((node, place, True))
                for below in reversed(node.inputs):
                    stack.append((below, None, False))
                continue
        else:
            assert isinstance(node, Tree)
            first = len(built) - len(node.inputs)
            vertex = run.dag.with_inputs(node, built[first:])
            del built[first:]
            result = None
            if vertex is not node:
                place = place or Place(node)
                result = run.known(vertex)
                if result is None:
                    run.enter(vertex, place)
            if result is None:
                after = run.ask(vertex, rules) if run.stopped is None else None
                if after is not None:
                    place = place or Place(vertex)
                    if again:
                        stack.append((after, place, False))
                        continue
                    result = run.fired(place, after, rules, repeat)
                if run.stopped is None and (again or place is None):
                    settled[id(vertex)] = vertex
                if result is None:
                    result = vertex if place is None else place.vertices[-1]
        if result is None:
            result = node
        if place is not None or result is not node:
            run.leave(node, place, result)
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
