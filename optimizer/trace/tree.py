"""Logical trees in a trace: a list of operators, parents first, each [depth, op, detail]."""

Operator = list[int | str]
FlatTree = list[Operator]


def position(tree: FlatTree, part: FlatTree) -> int | None:
    """Where `part` stands in `tree` with all its inputs: the index of its root. None: nowhere."""
    for at in range(len(tree) - len(part) + 1):
        if tree[at][1:] == part[0][1:] and moved(part, depth_of(tree[at])) == tree[at : at + len(part)]:
            return at
    return None


def replaced(tree: FlatTree, at: int, before: FlatTree, after: FlatTree) -> FlatTree:
    """`tree` with the part `before` that stands at `at` replaced by `after`."""
    return [*tree[:at], *moved(after, depth_of(tree[at])), *tree[at + len(before) :]]


def moved(tree: FlatTree, depth: int) -> FlatTree:
    """The same tree with its root at `depth`."""
    return [[depth_of(operator) + depth, *operator[1:]] for operator in tree] if depth else tree


def depth_of(operator: Operator) -> int:
    depth = operator[0]
    assert isinstance(depth, int)
    return depth
