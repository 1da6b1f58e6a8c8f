"""Join graphs by name: `chain/8`, `star/8`, `cycle/8`, `clique/8`, `grid/3x4`, `snowflake/3x2`,
`random/10/1`; their edges and their SQL. With `steinbrunn_` before it and a seed at its end, `steinbrunn_star/8/1`, the same
graph has tables drawn from the distributions of Steinbrunn, Moerkotte and Kemper.

Relations are r0, r1, …; every edge has a column of its own on either side, `r2.to5 = r5.to2`, so no predicate implies
another. The tables are those of the dataset `joingraph` (`joingraph_data`), which has statistics and no rows.
"""

import random
import re
from typing import NamedTuple

from optimizer.errors import SqlError, many

FAMILIES = {
    "chain/N": "N relations in a row (2 to 300)",
    "star/N": "a hub r0 and N-1 relations around it (2 to 300)",
    "cycle/N": "N relations in a ring (2 to 300)",
    "clique/N": "N relations, an edge between any two (2 to 200)",
    "grid/RxC": "R times C relations, each joined with its neighbours (2 to 300)",
    "snowflake/AxL": "a hub r0 and A arms around it, each L relations in a row (2 to 300)",
    "random/N/SEED": "a random tree of N relations and N/2 more edges (2 to 300)",
    "steinbrunn_SHAPE/N/SEED": "one of the shapes above, tables drawn as by Steinbrunn, Moerkotte and Kemper (2 to 60)",
}
SHAPES = ("chain", "star", "cycle", "clique", "grid", "snowflake", "random")
STEINBRUNN = "steinbrunn_"  # before a shape
_NAMES = rf"(?:{STEINBRUNN})?(?:{'|'.join(SHAPES)})"
MOST_RELATIONS = 300
MOST_OF_A_CLIQUE = 200  # 19,900 predicates; beyond, estimates of its middle sets would leave the range of floats

MOST_OF_STEINBRUNN = 60  # for the same reason

Edge = tuple[int, int]


class JoinGraph(NamedTuple):
    """`name` in normal form. `edges`: pairs of relation numbers, lower first, sorted; the graph is connected. `seed`: of tables
    drawn from Steinbrunn's distributions, None for those that follow from the name."""

    name: str
    relations: int
    edges: tuple[Edge, ...]
    seed: int | None = None

    @property
    def shape(self) -> str:
        return self.name.partition("/")[0]

    @property
    def prefix(self) -> str:
        """What the names of its tables begin with: `random_10_1` for random/10/1."""
        return self.name.replace("/", "_")

    def table(self, relation: int) -> str:
        return f"{self.prefix}_r{relation}"


def is_graph_name(text: str) -> bool:
    """Whether `text` begins like the name of a join graph: it is one, or a mistake worth a message of its own."""
    return re.fullmatch(rf"{_NAMES}/[\w/.+-]*", text, re.IGNORECASE) is not None


def join_graph(name: str) -> JoinGraph:
    """The graph of that name. Raises SqlError for a name of no graph, or too few or too many relations."""
    if name.lower().startswith(STEINBRUNN):
        plain, _, seed = name.lower().removeprefix(STEINBRUNN).rpartition("/")
        if not re.fullmatch(r"\d{1,9}", seed) or not is_graph_name(plain):
            raise SqlError(f'there is no join graph "{name}"', hint=f"write {STEINBRUNN}SHAPE/N/SEED: {STEINBRUNN}star/8/1")
        graph = join_graph(plain)
        if graph.relations > MOST_OF_STEINBRUNN:
            raise SqlError(
                f'"{name}" has {many(graph.relations, "relation")}; {STEINBRUNN} graphs can have 2 to {MOST_OF_STEINBRUNN}'
            )
        return graph._replace(name=f"{STEINBRUNN}{graph.name}/{int(seed)}", seed=int(seed))
    shape, _, rest = name.lower().partition("/")
    form = next((family for family in FAMILIES if family.startswith(shape + "/")), None)
    pattern = {"grid": r"(\d{1,4})x(\d{1,4})", "snowflake": r"(\d{1,4})x(\d{1,4})", "random": r"(\d{1,4})/(\d{1,9})"}.get(
        shape, r"(\d{1,4})"
    )
    found = re.fullmatch(pattern, rest)
    if form is None or found is None:
        hint = f"write {form}: {FAMILIES[form]}" if form else f"join graphs are {', '.join(FAMILIES)}"
        raise SqlError(f'there is no join graph "{name}"', hint=hint)
    numbers = [int(number) for number in found.groups()]
    relations = numbers[0] * numbers[1] if shape in ("grid", "snowflake") else numbers[0]
    relations += shape == "snowflake"
    most = MOST_OF_A_CLIQUE if shape == "clique" else MOST_RELATIONS
    if not 2 <= relations <= most:
        raise SqlError(f'"{name}" has {many(relations, "relation")}; {form} can have 2 to {most}')
    normal = f"{shape}/" + ("x" if shape in ("grid", "snowflake") else "/").join(map(str, numbers))
    return JoinGraph(normal, relations, _edges(shape, relations, numbers))


def graph_of_table(table: str) -> JoinGraph | None:
    """The graph that has the table of this lower-case name, such as `grid_3x4_r5`; None when none has."""
    found = re.fullmatch(rf"({_NAMES})_([\dx_]+)_r(\d{{1,3}})", table)
    if found is None:
        return None
    try:
        graph = join_graph(f"{found[1]}/{found[2].replace('_', '/')}")
    except SqlError:
        return None
    number = int(found[3])
    return graph if number < graph.relations and graph.table(number) == table else None


def _edges(shape: str, n: int, numbers: list[int]) -> tuple[Edge, ...]:
    chain = [(i, i + 1) for i in range(n - 1)]
    match shape:
        case "chain":
            return tuple(chain)
        case "star":
            return tuple((0, i) for i in range(1, n))
        case "cycle":
            return tuple(sorted({*chain, (0, n - 1)}))
        case "clique":
            return tuple((i, j) for i in range(n) for j in range(i + 1, n))
        case "grid":
            columns = numbers[1]
            across = [(i, i + 1) for i in range(n) if (i + 1) % columns]
            return tuple(sorted(across + [(i, i + columns) for i in range(n - columns)]))
        case "snowflake":  # arm by arm, from the hub outwards
            return tuple((0 if (i - 1) % numbers[1] == 0 else i - 1, i) for i in range(1, n))
    generator = random.Random(f"edges {n} {numbers[1]}")
    edges = {(generator.randrange(i), i) for i in range(1, n)}
    wanted = min(n - 1 + n // 2, n * (n - 1) // 2)
    while len(edges) < wanted:
        a, b = generator.sample(range(n), 2)
        edges.add((min(a, b), max(a, b)))
    return tuple(sorted(edges))


def graph_sql(graph: JoinGraph) -> str:
    """The query that joins all relations of the graph and counts the rows."""
    tables = ",\n     ".join(f"{graph.table(i)} AS r{i}" for i in range(graph.relations))
    predicate = "\n  AND ".join(f"r{i}.to{j} = r{j}.to{i}" for i, j in graph.edges)
    return f"SELECT count(*)\nFROM {tables}\nWHERE {predicate};\n"
