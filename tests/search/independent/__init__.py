"""An independent brute force: proves, or refutes, that the optimizer's plans are the cheapest of their space.

    queries     random SQL over random statistics: implied equalities, constant keys, groupings, stored orders, directions
    knowledge   what is known of rows: equal columns, constants, dependencies, keys
    cheapest    the cheapest cost of a query, from the operators' meaning alone; also the judge of the random join graphs beside
    replay      whether a chosen plan does what was asked, and what it costs
    options     settings under which the optimum has to be found
    check       one query under several settings against the brute force
    __main__    python -m tests.search.independent --queries 100000 --seed 1

It shares nothing with the search, its traits or its properties: from the optimizer it takes the tree after the pre-pass, the rows
of relation sets and the local costs of operators, and it asks for plans only through `Optimizer`.
"""
