"""Rules written as plain functions, usually with `match` over the operator and its inputs.

    @rewrite(node(Filter, node(Filter, ANY)))
    def filters_to_one(tree, context):
        \"\"\"σp(σq(A)) ≡ σ(p ∧ q)(A)\"\"\"
        match tree:
            case Tree(Filter(p), (Tree(Filter(q), (below,)),)):
                return Tree(Filter(conjunction((*p, *q))), (below,))
        return None

`filters_to_one` is then a RewriteRule like any other, named after the function, described by the first line of its docstring.
With a `sweep` it passes over the whole tree by itself, up or down, as Catalyst's `transformUp` and `transformDown` apply a
partial function; without one it fires in the order of its batch. It is defined where rules are (`rules.interface`); plug-ins
import it from here.
"""

from optimizer.rules.interface import ANY_OPERATOR, FunctionRule, Rewrite, rewrite

__all__ = ["ANY_OPERATOR", "FunctionRule", "Rewrite", "rewrite"]
