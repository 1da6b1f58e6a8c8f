"""Plug-ins: what they may register, how a mistake in one is told, and where their names can be used."""

import json
import re
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pytest

from executor.arrow.counters import Counters
from executor.arrow.pipeline import Stage
from executor.arrow.run import execute
from experiments.bench import pruning
from experiments.bench.child import measured
from experiments.bench.experiment import Options, names_of
from experiments.cli import main
from experiments.commands.inputs import Inputs
from memo_viz.explain import plan_json
from optimizer.algebra import ColumnRef, HashJoin, Join, JoinKind, PhysicalOperator, TraitSet, physical
from optimizer.algebra.physical import OPERATORS
from optimizer.catalog.table import Catalog
from optimizer.engines.arrow import COST_MODELS
from optimizer.errors import ExecutionError, PlanscopeError, SettingsError
from optimizer.plugins.load import load_plugins
from optimizer.prepass.program import PROGRAM
from optimizer.rules.transform.join_commute import JoinCommute
from optimizer.stats.relation import RelationStats
from planscope import ANY, ImplementationRule, Optimizer, Session, Settings, Trace, node

HEAD = """
from planscope import *
from planscope.algebra import *
from planscope.plugin import cost_model, estimator, operator, rule
"""
FREE = '''
@cost_model
class Free:
    """Everything is free."""
    name = "free"
    def local(self, op, delivered, output, inputs): return 0.0
    def least(self, op, output, inputs): return 0.0
    def lower_bound(self, op, output, inputs, leaves): return 0.0
'''
KEEP = '''
@rule
class Keep(RewriteRule):
    """Nothing changes."""
    name = "keep"
    pattern = node(Join, ANY, ANY)
    def apply(self, bound, context): return None
'''
PEEK = '''
from dataclasses import dataclass
from optimizer.algebra.logical import LogicalOperator
@dataclass(frozen=True)
class Peek(LogicalOperator):
    count: int
    name = "peek"
    arity = 1
    def derive_props(self, inputs): return inputs[0]
@rule
class LimitToPeek(RewriteRule):
    """Any rows are a peek."""
    name = "limit_to_peek"
    pattern = node(Limit, ANY)
    def apply(self, bound, context): return Tree(Peek(bound.op.count), bound.inputs)
'''


def peek(old: str, new: str) -> str:
    """A plug-in with a logical operator, a rule that makes it, and one that binds it."""
    binds = (
        "@rule\nclass B(RewriteRule):\n    name = 'b'\n    pattern = node(Peek, ANY)\n    def apply(self, bound, context): pass\n"
    )
    return (PEEK + binds).replace(old, new)


TRANSFORM, IMPLEMENT = (KEEP.replace("RewriteRule", kind) for kind in ("TransformationRule", "ImplementationRule"))
A_RULE = "@rule\nclass A(RewriteRule):\n    name = 'a'\n"
A_LIMIT = A_RULE.replace("Rewrite", "Implementation") + "    pattern = node(Limit, ANY)\n"
AN_ESTIMATOR = "@estimator\nclass A(Estimator):\n"
OWN = "@operator\nclass A(PhysicalOperator):\n    name = 'a'\n"
FUNCTION = "from optimizer.prepass.functions import rewrite\n@rule\n@rewrite(ANY)\ndef f(tree): pass\n"
MINE = """
from planscope.plugin import enumerator
@enumerator
def mine(graph, relations):
    found = []
    for one in (1 << i for i in range(graph.n) if relations >> i & 1):
        rest = relations ^ one
        if graph.connected(rest):
            found.append(one if one == relations & -relations else rest)
    return found
"""


def written(folder: Path, body: str, name: str = "mine.py") -> str:
    (folder / name).write_text(HEAD.lstrip() + body, "utf-8")
    return str(folder / name)


def test_decorators_and_register_do_the_same(tmp_path: Path) -> None:
    first = load_plugins([written(tmp_path, FREE + KEEP)])
    undecorated = (FREE + KEEP).replace("@cost_model\n", "").replace("@rule\n", "")
    body = f"{undecorated}\ndef register(registry):\n    registry.cost_model(Free)\n    registry.rule(Keep())\n"
    second = load_plugins(Session("joingraph", plugins=written(tmp_path, body, "second.py")).settings.plugins)
    assert [each[:3] for each in first.extensions] == [each[:3] for each in second.extensions]
    assert [each[:3] for each in first.extensions] == [
        ("free", "cost_model", "Everything is free."),
        ("keep", "prepass", "Nothing changes."),
    ]


def test_decorators_leave_what_they_stand_on_as_it_is_elsewhere() -> None:
    from planscope.plugin import rule

    class Never(ImplementationRule):
        name = "never"
        pattern = node(Join, ANY, ANY)

        def apply(self, bound: object, context: object) -> tuple[()]:
            return ()

    assert rule(Never) is Never
    with pytest.raises(SettingsError, match="int is no rule"):
        rule(int)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = (\n", r"line 4: SyntaxError: '\(' was never closed"),
        ("import nowhere_to_be_found\n", "line 4: ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("1 / 0\n", "line 4: ZeroDivisionError: division by zero"),
        ("x = 1\n", "registers nothing"),
        ("def register(registry):\n    registry.rule(int)\n", "line 5: int is no rule: derive it from TransformationRule"),
        (A_RULE, "line 4: A has no pattern"),
        (A_RULE + "    pattern = ANY\n", "line 4: A has no method apply"),
        (A_RULE + "    pattern = Join\n", r"line 4: A has the pattern Join: write pattern = node"),
        (KEEP.replace("node(Join,", "node('Join',"), "a pattern can only name a logical operator, not 'Join'"),
        (KEEP.replace("@rule", "@rule()"), "@rule has no arguments: write it without parentheses"),
        ("def register(): pass\n", r"register gets 1 argument \(registry\): too many .*\nwrite def register\(registry\)"),
        (AN_ESTIMATOR + "    def inner_region(self, a, b): pass\n", r"A.inner_region gets 3 arguments \(leaves,"),
        (A_LIMIT + "    to = Limit\n", "to of A is 'Limit': write a class of physical operators"),
        (KEEP.replace('name = "keep"', "pass"), 'Keep needs a name of letters, digits and _: name = "keep"'),
        (KEEP.replace('"keep"', '"to keep"'), "needs a name of letters"),
        (KEEP.replace('"keep"', '"join_commute"'), 'there is a "join_commute" already, of planscope'),
        (KEEP + KEEP, 'there is a "keep" already, of .*mine.py: choose another name'),
        (FREE.replace('"free"', '"arrow"'), 'there is a "arrow" already, of planscope'),
        (FREE.replace("def least", "def most"), "Free is no cost model: it has no method least"),
        (FREE.replace("class Free", "class Free(CostModel)").replace("def least", "def most"), "it has no method least"),
        (FREE.replace("delivered, ", ""), r"Free.local gets 4 arguments \(op, delivered, output, inputs\): too many .*\nwrite"),
        (FREE.replace("least(self, ", "least("), r"Free.least gets 3 arguments .*\nwrite def least\(self, op, output, inputs\)"),
        (FREE.replace(", leaves", ", leaves, more"), "Free.lower_bound gets 4 arguments .*: missing a required argument: 'more'"),
        (KEEP.replace(", context", ""), r"Keep.apply gets 2 arguments .*\nwrite def apply\(self, bound, context\)"),
        (KEEP.replace("ANY, ANY", "ANY"), r"line 5: the pattern of Keep gives Join 1 input, .* 2: write node\(Join, ANY, ANY\)"),
        (FUNCTION, r"f gets 2 arguments \(tree, context\): too many .*\nwrite def f\(tree, context\)"),
        (A_LIMIT + "    to = HashJoin\n", "A cannot make a HashJoin of a Limit, which has no kind: write an apply"),
        (TRANSFORM.replace("node(Join, ANY, ANY)", "ANY"), r"the pattern of Keep is ANY: write pattern = node\(...\)"),
        (KEEP.replace("ANY, ANY", "ANY, ANY, where=5"), "where in the pattern of Keep is 5: write a function of an operator"),
        (KEEP.replace("ANY, ANY", "ANY, ANY, where=lambda: True"), r"where in the pattern of Keep gets 1 argument \(op\)"),
        (OWN + "    def pass_through(self, required): pass\n", r"A.pass_through gets 3 arguments \(required, output, inputs\)"),
        (KEEP.replace("node(Join, ANY, ANY)", "node(Limit, node(Scan, ANY))"), r"gives Scan 1 input, and it has 0: .*\(Scan\)"),
        (MINE.replace("graph, relations)", "graph)"), r"mine gets 2 arguments .*\nwrite def mine\(graph, relations\)"),
        (AN_ESTIMATOR + "    def estimate(self, op): pass\n", r"A.estimate gets 3 arguments \(op, props"),
        (OWN + "    def produce(self): pass\n", "A.produce gets 2 arguments"),
        ("@operator\nclass A: pass\n", "A is no operator: derive it from PhysicalOperator"),
        ("@operator\nclass A(HashJoin): pass\n", 'there is a "hash_join" already, of planscope'),
        ("import sys\nsys.exit()\n", "line 5: SystemExit"),
        ("class Stop(BaseException): ...\n\nraise Stop\n", "line 6: Stop"),
        (OWN + "    cost = None\n", r"A.cost is None: write def cost\(self, model, output, inputs\)"),
        (OWN + "    def used_columns(self): return 0\n", r"A.used_columns gets 1 argument \(output\)"),
        (OWN + "    def prodce(self, node, context): ...\n", 'A has "prodce": did you mean "produce"\\? If not, call it'),
        (FREE + "    def __init__(self, a): pass\n", r"Free.__init__ gets 0 arguments .*\nwrite def __init__\(self\)"),
        (FREE + "    def join_costs(self, a): pass\n", r"Free.join_costs gets 0 arguments"),
        (FREE.replace("@cost_model", "") + "cost_model(Free())\n", "an object of Free is no cost model here: register the class"),
        (AN_ESTIMATOR + "    def __init__(self): pass\n", r"A.__init__ gets 2 arguments \(catalog, columns\)"),
        (AN_ESTIMATOR.replace("Estimator", "KnownRows") + "    def inner_regon(self): pass\n", 'did you mean "inner_region"'),
        (KEEP.replace("node(Join, ANY, ANY)", "node(Join, ANY, Join)"), r"is ANY or a node, not Join: write node\(Join\)"),
        (peek("    arity = 1\n", ""), "the operator Peek has no arity: write arity = 1"),
        (peek("    def derive_props", "    def derive_prop"), "Peek does not say what it produces: write def derive_props"),
        (peek("(self, inputs)", "(self)"), r"Peek.derive_props gets 1 argument \(inputs\)"),
        (KEEP.replace("    def apply", "    promis = 3\n    def apply"), 'Keep has "promis": did you mean "promise"'),
        (
            KEEP.replace("    def apply", "    sweep = 'upp'\n    def apply"),
            "Keep has sweep = 'upp': it is None or one of up, down",
        ),
        *(
            (TRANSFORM.replace("    def apply", f"    {field}\n    def apply"), message)
            for field, message in (
                ("used_with = 'ab'", "Keep has 'a' in used_with"),
                ("promise = 'high'", "the promise 'high'"),
                ("expands = 'now'", "one of always"),
            )
        ),
        (FUNCTION.replace("(ANY)", ""), r"rewrite is called with a pattern, or with nothing: write @rewrite\(\)"),
        ("@estimator\nclass A: pass\n", "A is no estimator: derive it from Estimator"),
        ("@estimator\nclass histogram(Estimator): pass\n", 'there is a "histogram" already'),
    ],
)
def test_what_is_wrong_in_a_plug_in(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        load_plugins([written(tmp_path, body)])
    assert str(caught.value).startswith(f"plug-in {tmp_path / 'mine.py'}")


def test_files_that_are_none() -> None:
    with pytest.raises(SettingsError, match=r"cannot read plug-in nowhere.py: No such file"):
        load_plugins(["nowhere.py"])
    with pytest.raises(SettingsError, match=r'"mine.txt" does not end in \.py'):
        load_plugins(["mine.txt"])


def test_a_changed_plug_in_is_run_again(tmp_path: Path) -> None:
    file = written(tmp_path, FREE)
    assert load_plugins([file]) is load_plugins([file])
    written(tmp_path, FREE + KEEP)
    assert list(load_plugins([file]).of_kind("prepass")) == ["keep"]


def test_names_are_usable_wherever_settings_are(tmp_path: Path) -> None:
    file = written(tmp_path, FREE + KEEP + "\n@estimator\nclass Mine(Estimator):\n    pass\n")
    session = Session("joingraph", {"cost_model": "free", "estimator": "Mine", "disable": ["keep"]}, plugins=[file])
    query = session.optimize("chain/3")
    assert query.cost == 0.0 and query.settings.plugins == (file,)
    for values, message in (
        ({"cost_model": "fre"}, 'setting cost_model cannot be "fre": choose one of arrow, c_out, c_mm, spark, free'),
        ({"estimator": "mine"}, "upper_bound, Mine"),
        ({"disable": ["kep"]}, 'unknown rule "kep"\ndid you mean "keep"?'),
    ):
        with pytest.raises(SettingsError, match=message):
            Session("joingraph", values, plugins=[file])
    with pytest.raises(SettingsError, match='cannot be "free"'):
        Session("joingraph", {"cost_model": "free"})


TIMES = """
@estimator
class Times(Estimator):
    factor = 1.0

    def inner_region(self, leaves, predicate, props):
        stats = super().inner_region(leaves, predicate, props)
        stats.rows *= self.factor
        return stats
"""


def test_values_are_set_behind_a_name(tmp_path: Path) -> None:
    file = written(tmp_path, FREE + TIMES)

    def rows(name: str) -> float:
        sql = "select to1 from chain_4_r0 join chain_4_r1 on to1 = to0"
        return Session("joingraph", {"estimator": name}, plugins=[file]).optimize(sql).plan.rows

    assert rows("Times(factor=4)") == 4 * rows("Times") and rows("Times") == rows("Times( factor = 1 )")
    for name, message in (
        ("Times(estimate=1)", 'has no value "estimate"'),
        ("Times(__doc__='')", 'no value "__doc__"'),
        ("Times(factor=open('x'))", "cannot be read"),
        ("Times(4)", "cannot be read"),
        ("Times(", "cannot be read"),
        ("Tims(factor=1)", "choose one of"),
    ):
        with pytest.raises(SettingsError, match=message):
            rows(name)
    assert names_of("A(q=1, s=2),B , A(q=1, s=2)") == ["A(q=1, s=2)", "B"]


@pytest.mark.parametrize(
    ("graph", "kind"), [("cycle/6", "int"), ("chain/8", "int"), ("grid/3x3", "int"), ("cycle/6", "__import__('numpy').int64")]
)
def test_an_enumerator_decides_which_splits_are_searched(tmp_path: Path, graph: str, kind: str) -> None:
    """By tasks, by the iterative driver and by expressions of the memo: the same plan as left-deep enumeration has. Seeds and
    first orders that it does not allow are none."""
    file = written(tmp_path, MINE.replace("return found", f"return list(map({kind}, found))"))
    best = Session("joingraph", {"enumeration": "left_deep"}).optimize(graph).cost
    for values in ({}, {"region": "tasks"}, {"driver": "iterative", "enumeration": "partition"}, {"pruning": "none"}):
        query = Session("joingraph", {**values, "partitioner": "mine"}, plugins=[file]).optimize(graph)
        assert query.cost == pytest.approx(best, rel=1e-9) and query.search.proven
    with pytest.raises(SettingsError, match='partitioner cannot be "min": choose one of branch, conservative, mine'):
        Session("joingraph", {"partitioner": "min"}, plugins=[file])


def test_a_split_given_twice_counts_once(tmp_path: Path) -> None:
    files = [tmp_path / f"{times}.py" for times in (1, 2)]
    for times, file in enumerate(files, 1):
        file.write_text(MINE.replace("return found", f"return found * {times}"))
    once, twice = (Session("joingraph", {"partitioner": "mine"}, plugins=[file]).optimize("chain/6") for file in files)
    assert once.search.joins_enumerated == twice.search.joins_enumerated > 0 and once.cost == twice.cost


AT_MINE = "mine.py, line 5: the enumerator mine"
SPLITS = "from planscope.plugin import enumerator\n@enumerator\ndef mine(graph, relations): return {}\n"
NO_SPLITS = ("[relations]", "['a']", "[1.0]", "[-1]", "[1 << 40]", "[0]", "[relations & (relations - 1)]")
INFINITE = "from math import inf, nan\n" + FREE
ROWS = """
@estimator
class Wrong(Estimator):
    def estimate(self, op, props, inputs):
        stats = super().estimate(op, props, inputs)
        stats.rows = {}
        return stats
"""


@pytest.mark.parametrize(
    ("body", "graph", "message"),
    [
        *(
            (SPLITS.format(parts), graph, "has no implementation: the enumerator mine leaves no order of these relations")
            for graph, parts in (("chain/8", "[]"), ("star/4", "[1] if relations == 3 else []"))
        ),
        *((SPLITS.format(parts), "chain/4", rf"{AT_MINE} splits .* by (0b|-0b|1\.|'a)") for parts in NO_SPLITS),
        (  # ended in an assertion deep in the search
            SPLITS.format("[relations & -relations]"), "star/3",
            f"{AT_MINE} splits the set 0b111 into 0b1 and 0b110, which is not",
        ),
        (SPLITS.format("None"), "chain/4", f"{AT_MINE} gives None for"),
        (SPLITS.format("7"), "chain/4", f"{AT_MINE} gives an object of type int for"),
        *(
            (INFINITE.replace(place.format(0.0), place.format(value)), "chain/4", f"{said} {value}.* (no number from|not finite)")
            for place, said, values in (
                ("inputs): return {}\n    def least", r"the cost model free gives \w+ the cost", ("nan", "None", "'1'")),
                ("inputs): return {}\n    def lower", r"free says that \w+ costs at least", ("1j", "nan", "inf")),
                ("leaves): return {}", r"gives \w+ the bound", ("nan", "inf")),
            )
            for value in values
        ),
        *(
            (ROWS.format(rows), "chain/4", "the estimator gives scan as its number of rows .*, which is no number from 0 up")
            for rows in ("float('nan')", "-5.0", "None")
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("region", ["auto", "tasks"])
def test_splits_costs_and_rows_that_are_none(tmp_path: Path, body: str, graph: str, message: str, region: str) -> None:
    kind = "partitioner" if "def mine" in body else "estimator" if "class Wrong" in body else "cost_model"
    own = {"partitioner": "mine", "estimator": "Wrong", "cost_model": "free"}[kind]
    with pytest.raises(PlanscopeError, match=message):
        Session("joingraph", {kind: own, "region": region}, plugins=[written(tmp_path, body)]).optimize(graph)


OWN_JOIN_ONLY = f"""
{OWN}    def cost(self, model, output, inputs): return 1000.0
@rule
class ToOwn(ImplementationRule):
    name = "to_own"
    pattern = node(Join, ANY, ANY)
    def apply(self, bound, context): return (A(),)
"""


def own_join(method: str) -> str:
    """With one more method of the operator, at line 9."""
    return OWN_JOIN_ONLY.replace("@rule", f"    {method}\n@rule")


RATED = "@estimator\nclass Rated(Estimator):\n    def estimate(self, op, props, inputs): return 1 / 0\n"
ZERO = r"line \d+: (rule \w+ failed .*: )?ZeroDivisionError: division by zero$"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            FREE.replace("0.0\n    def least", "float('inf')\n    def least"),
            "line 9: sort costs infinity under the cost model free",
        ),
        (FREE.replace("0.0", "1 / 0"), ZERO),
        (FREE.replace("    def local", "    def __init__(self): 1 / 0\n    def local"), ZERO),
        (FREE + "    def join_costs(self): return 7\n", "line 12: join_costs of free returned an object of type int\nit returns"),
        (RATED, ZERO),
        (RATED.replace("1 / 0", "exit(3)"), r"line \d+: SystemExit: 3"),
        (KEEP.replace("None", "exit()"), r"line \d+: SystemExit"),
        (RATED.replace("1 / 0", "None"), "line 6: estimate of Rated returned None\nit returns RelationStats"),
        (RATED.replace("1 / 0", "type(super().estimate(op, props, inputs))(1.0, {})"), "without figures for 2 columns"),
        (OWN_JOIN_ONLY + "A.cost = lambda *_: 1 / 0", ZERO),
        (
            OWN_JOIN_ONLY.replace("1000.0", "float('inf')"),
            "line 8: a costs infinity under the cost model arrow, which forbids it",
        ),
        (own_join("def describe(self, label): return 1 / 0"), ZERO),
        (own_join("def describe(self, label): pass"), "line 9: describe of a returned None\nit"),
        (
            own_join("def used_columns(self, output): return {1}"),
            "line 9: used_columns of a returned an object of type set\nit returns a set of columns, as column_set makes it",
        ),
        (
            own_join("def pass_through(self, *_): return [Alternative((), TraitSet())]"),
            "line 9: pass_through of a returned an Alternative for 0 inputs, and there are 2",
        ),
        (OWN_JOIN_ONLY.replace("(A(),)", "1 / 0"), ZERO),
        *((rule.replace("None", "1 / 0"), ZERO) for rule in (KEEP, TRANSFORM)),
        (KEEP.replace("None", "Tree(Join, bound.inputs)"), "line 10: rule keep returned a tree that cannot be read: TypeError"),
        (
            KEEP.replace("None", "Tree(Filter((1,)), (bound,))"),
            "rule keep returned a tree that has 1 for a scalar\na tree has an",
        ),
        (
            KEEP.replace("None", "Tree(Limit((), 0, -1), (bound,))"),
            "line 10: rule keep failed in the pre-pass: ValueError: a limit of -1 rows after 0",
        ),
        (KEEP.replace("None", "Tree(Limit((), 0, 1), (bound.op,))"), "rule keep returned a tree that cannot be read: Attr"),
        (TRANSFORM, r"returned None\napply returns a sequence, \(\) where it does not apply"),
        (TRANSFORM.replace("None", "bound"), "returned an object of type Tree\napply returns a sequence"),
        (TRANSFORM.replace("None", "[bound.inputs[0]]"), "returned an object of type Leaf in its sequence, which is no Tree"),
        (TRANSFORM.replace("None", "[Tree(Limit((), 0, 1), bound.inputs[:1])]"), r"without \w+#\d.*\nits columns"),
        (TRANSFORM.replace("None", "[Tree(Filter((ColumnRef(77, 0),)), (bound,))]"), "filter that reads column #77"),
        (IMPLEMENT.replace("None", "[bound]"), "returned an object of type Tree in its sequence, which is no PhysicalOperator"),
        (IMPLEMENT.replace("None", "[FilterRows((ColumnRef(77, 0),))]"), "filter_rows that reads column #77, which none"),
        (KEEP.replace("None", "()"), "returned an object of type tuple\napply returns a Tree, None where it does not apply"),
        (KEEP.replace("None", "Tree(Aggregate((99,), ()), (bound,))"), "aggregate that reads column #99"),
        (KEEP.replace("None", "bound.inputs[0]"), r"returned a tree without r_\w+#\d.*\nit has the columns"),
        (peek("return inputs[0]", "return 1 / 0"), ZERO),
        (peek("return inputs[0]", "return ()"), "line 12: derive_props of peek returned an object of type tuple\nit returns Log"),
        (
            peek("(bound.op.count)", "([bound.op.count])"),
            "limit_to_peek returned a tree that cannot be read: TypeError: unhashable",
        ),
    ],
)
def test_what_hooks_raise_and_return_is_told_with_file_and_line(tmp_path: Path, tpch: Catalog, body: str, message: str) -> None:
    """In Python as in the shell, without a traceback."""
    sql = "select n_name, r_name from nation join region on n_regionkey = r_regionkey order by n_name limit 5"
    settings = {"cost_model": "free"} if "class Free" in body else {"estimator": "Rated"} if "class Rated" in body else {}
    hashed = ["join_to_hash_join", "join_to_merge_join", "join_to_nested_loop_join"] if "class ToOwn" in body else []
    with pytest.raises(PlanscopeError, match=message) as caught:
        print(Session(tpch, {**settings, "disable": hashed}, plugins=[written(tmp_path, body)]).explain(sql))
    assert f"plug-in {tmp_path / 'mine.py'}, line " in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize("method", ["produce", "stage"])
def test_what_an_operator_raises_as_it_runs(tmp_path: Path, tpch: Catalog, method: str) -> None:
    body = own_join(f"def {method}(self, node, context): return 1 / 0")
    hashed = ["join_to_hash_join", "join_to_merge_join", "join_to_nested_loop_join"]
    with pytest.raises(ExecutionError, match=r"^a: plug-in .*mine.py, line 9: ZeroDivisionError: division by zero"):
        Session(tpch, {"disable": hashed}, plugins=[written(tmp_path, body)]).sql("select n_name from nation, region")


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    """What models that were learned give: costs, rows and known rows, in plans, traces and pictures as JSON."""
    cost = FREE.replace("delivered, output, inputs): return 0.0", "delivered, output, inputs): return np.float32(output.rows)")
    own = """
@estimator
class Learned(KnownRows):
    def known(self, relations): return np.float32(7.5)
"""
    file = written(tmp_path, "import numpy as np\n" + cost + own)
    session = Session("joingraph", {"cost_model": "free", "estimator": "Learned"}, plugins=[file])
    trace = Trace()
    query = session.optimize("chain/4", trace)
    joins = [node for node in query.plan.walk() if node.op.name.endswith("_join")]
    assert joins and all(node.rows == 7.5 and type(node.rows) is type(node.cost) is float for node in joins)
    json.dumps(trace.events), json.dumps(plan_json(query.plan, query.columns))


def test_a_settings_file_names_plug_ins_beside_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub", FREE)
    more = written(tmp_path, KEEP, "more.py")
    (tmp_path / "sub" / "my.toml").write_text('plugins = ["mine.py"]\ncost_model = "free"\n')
    settings = Settings.from_pairs(file=tmp_path / "sub" / "my.toml", plugins=(more,))
    assert settings.plugins == (str(tmp_path / "sub" / "mine.py"), more) and settings.cost_model == "free"
    session, _ = Inputs("chain/3", None, (), (), tmp_path / "sub" / "my.toml", None, quiet=True, plugins=(more,)).open({})
    assert session.settings == settings


def test_rewrites_come_last_unless_the_program_names_them(tmp_path: Path) -> None:
    registry = load_plugins([written(tmp_path, KEEP)])
    assert [rule.name for rule in registry.program(PROGRAM)[-1].rules] == ["keep"]
    named = registry.program(PROGRAM)
    assert registry.program(named) == named
    assert load_plugins([]).program(PROGRAM) is PROGRAM


def test_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, FREE + KEEP + "print('noise')\n")
    assert main(["rules", "--plugin", file, "--format", "json"]) == 0
    rules = json.loads(capsys.readouterr().out)
    assert rules[-1] == {"rule": "keep", "kind": "prepass", "what it does": f"Nothing changes. ({file})"}
    assert main(["settings", "--plugin", file, "--format", "json"]) == 0
    values = {each["setting"]: each["values"] for each in json.loads(capsys.readouterr().out)}
    assert values["cost_model"] == "arrow|c_out|c_mm|spark|free"
    assert main(["workloads", "--format", "json"]) == 0
    assert {"name", "title"} == set(json.loads(capsys.readouterr().out)["queries"][0])


OWN_JOIN = '''
from dataclasses import dataclass
from optimizer.rules.implement.join_to_hash_join import JoinToHashJoin
@operator
@dataclass(frozen=True, slots=True)
class OwnJoin(HashJoin):
    """A hash join by another name."""
    name = "own_join"
@rule
class Hashing(ImplementationRule):
    """Its name does not end in that of the operator."""
    name = "hashing"
    pattern = node(Join, ANY, ANY)
    def apply(self, bound, context):
        made = JoinToHashJoin().apply(bound, context)
        return [OwnJoin(j.kind, j.keys, j.residual, j.build_left, j.null_safe, j.mark) for j in made]
'''


def test_why_knows_an_operator_by_its_own_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["why", "chain/3", "--plugin", written(tmp_path, OWN_JOIN), "--operator"]
    assert main([*asked, "own_join"]) == 0 and "own_join" in capsys.readouterr().out
    assert main([*asked, "own_jon"]) == 2 and 'did you mean "own_join"?' in capsys.readouterr().err
    assert main([*asked, "own_join", "--disable", "hashing"]) == 2 and '"own_join"' in capsys.readouterr().err


ENDLESS = "[Tree(Limit((SortKey(bound.columns.bit_length() - 1),), 0, 1 << 2000), (bound,))]"


@pytest.mark.parametrize(
    ("apply", "code", "message"),
    [
        ("return bound.nothing", 2, r"^error: plug-in \S+mine.py, line 10: rule keep failed on group (?s:.)*AttributeError"),
        ("raise BaseException('no more')", 2, ", line 10: BaseException: no more"),
        (f"return {ENDLESS}", 1, r"planscope has a bug, or what a plug-in gives it is wrong \(\S+mine.py"),
    ],
)
def test_an_error_in_a_rule_of_a_plug_in_is_not_called_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, apply: str, code: int, message: str
) -> None:
    monkeypatch.setenv("PLANSCOPE_HOME", str(tmp_path))
    file = written(tmp_path, TRANSFORM.replace("return None", apply))
    assert main(["explain", "chain/3", "--plugin", file]) == code
    assert re.search(message, capsys.readouterr().err)


class Half:
    name = "half"
    local = least = staticmethod(lambda *_: 0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cost": Half()}, "Half is no cost model: it has no method lower_bound"),
        ({"cost": Half}, r"Half is a class: pass an object of it, Half\(\)"),
        ({"transformations": (JoinCommute,)}, r"JoinCommute is a class: pass an object of it, JoinCommute\(\)"),
        ({"implementations": (ImplementationRule,)}, "ImplementationRule is a class"),
    ],
)
def test_what_is_passed_to_an_optimizer_is_checked(tpch: Catalog, given: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Optimizer(tpch, **given)


GROW = '''
@rule
class Grow(TransformationRule):
    """Ever new expressions."""
    name = "limit_grow"
    pattern = node(Limit, ANY)
    def apply(self, bound, context):
        (below,), limit = bound.inputs, bound.op
        return (Tree(Limit(limit.order, limit.offset, limit.count + 1), (Tree(limit, (below,)),)),)
'''


@pytest.mark.parametrize("budget", ["budget_mexprs=50", "budget_tasks=200"])
@pytest.mark.parametrize("driver", ["top_down", "iterative"])
def test_a_rule_that_never_ends_is_named(tmp_path: Path, tpch: Catalog, budget: str, driver: str) -> None:
    setting, value = budget.split("=")
    session = Session(tpch, {setting: int(value), "driver": driver}, plugins=[written(tmp_path, GROW)])
    text = " ".join(session.explain("select * from nation order by n_name limit 3").text.split())
    assert f"not proven: {budget} ended the search; of the transformation rules limit_grow fired most, " in text


@pytest.mark.parametrize(
    "method", ["pass_through(self, required, output, inputs)", "derive(self, offered, index, output, inputs)"]
)
@pytest.mark.parametrize(
    ("result", "message"), [("7", "returned an object of type int"), ("[None]", "returned None in its sequence, which is no")]
)
def test_the_ways_of_an_operator_are_checked(tmp_path: Path, method: str, result: str, message: str) -> None:
    body = f"""
@operator
class OddSort(Sort):
    name = "odd_sort"
    def {method}: return {result}
"""
    file, called = written(tmp_path, body), method.split("(")[0]
    operator = load_plugins([file]).of_kind("operator")["odd_sort"]
    with pytest.raises(SettingsError, match=rf"^plug-in .*mine\.py, line 8: {called} of odd_sort {message}"):
        getattr(operator, called)(*[None] * (method.count(",") + 1))


# -- operators ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Odd(PhysicalOperator):
    """It says nothing of itself."""

    name: ClassVar[str] = "odd"


@dataclass(frozen=True)
class Priced(Odd):
    name: ClassVar[str] = "priced"

    def cost(self, model: str, output: RelationStats, inputs: object) -> float:
        return {"arrow": 7.0, "spark": 8.0}.get(model, output.rows)


@dataclass(frozen=True, slots=True)
class Renamed(HashJoin):
    name: ClassVar[str] = "renamed"


@pytest.mark.parametrize("model", COST_MODELS)
def test_an_operator_is_priced_by_itself_or_by_its_base_or_not_at_all(model: str) -> None:
    cost = COST_MODELS[model]()
    rows, inputs = RelationStats(40.0, {}), (RelationStats(10.0, {}), RelationStats(20.0, {}))
    message = rf"the cost model {model} does not know the operator odd\nwrite Odd\.cost\(self, model, output, inputs\)"
    with pytest.raises(SettingsError, match=message):
        cost.local(Odd(), TraitSet(), rows, inputs)
    expected = {"arrow": 7.0, "spark": 8.0}.get(model, 40.0)
    assert cost.local(Priced(), TraitSet(), rows, inputs) == pytest.approx(expected)
    for given in (None, "x", float("nan"), -1):
        own = type("Own", (Odd,), {"cost": lambda *_, given=given: given})
        message = f"the cost model {model} gives odd the cost {given!r}, which is no number from 0 up"
        with pytest.raises(PlanscopeError, match=message):
            cost.local(own(), TraitSet(), rows, inputs)
    join = HashJoin(JoinKind.INNER, ((ColumnRef(0, pa.int64()), ColumnRef(1, pa.int64())),), ())
    assert cost.local(renamed(join), TraitSet(), rows, inputs) == cost.local(join, TraitSet(), rows, inputs)


def renamed(join: HashJoin) -> Renamed:
    return Renamed(**{field.name: getattr(join, field.name) for field in fields(join)})


def test_an_operator_runs_by_itself_or_as_its_base_or_not_at_all(tpch: Catalog) -> None:
    query = Optimizer(tpch).optimize("select count(*) from nation, region where n_regionkey = r_regionkey and r_name < 'B'")
    expected = execute(query.plan, query.columns, tpch.tables).read_all()
    joins = [each for each in query.plan.walk() if isinstance(each.op, HashJoin)]
    assert joins
    for join in joins:
        join.op = renamed(join.op)
    assert execute(query.plan, query.columns, tpch.tables).read_all() == expected
    joins[0].op = Odd()
    message = r"the executor does not know the operator odd\nwrite Odd\.stage\(self, node, context\)"
    with pytest.raises(ExecutionError, match=message):
        execute(query.plan, query.columns, tpch.tables).read_all()


REGION = pa.record_batch({"c0": pa.array([1, 2], pa.int64())})


@pytest.mark.parametrize(
    ("method", "give", "message"),
    [
        ("produce", lambda *_: iter([REGION]), ""),
        ("produce", lambda *_: [REGION], ""),
        ("produce", lambda *_: None, "produce returned None, no iterator of RecordBatches"),
        ("produce", lambda *_: pa.table(REGION), "produce returned an object of type Table, no iterator"),
        ("produce", lambda *_: [pa.table(REGION)], "produce gave an object of type Table, no RecordBatch"),
        ("produce", lambda *_: [REGION.rename_columns(["c1"])], "produce gave a batch of c1: int64\nexpected .*: c0: int64\n"),
        ("produce", lambda *_: [pa.record_batch({"c0": ["a"]})], "produce gave a batch of c0: string\nexpected .*: c0: int64\n"),
        ("stage", lambda *_: Stage(lambda batch: [REGION]), ""),
        ("stage", lambda *_: REGION, "stage returned an object of type RecordBatch, no Stage"),
        ("stage", lambda *_: Stage(lambda batch: REGION), "work of stage returned an object of type RecordBatch, no it"),
        ("stage", lambda *_: Stage(lambda batch: [], lambda: [1]), "tail of stage gave an object of type int"),
    ],
)
@pytest.mark.parametrize("counted", [False, True])
def test_what_an_operator_of_a_plug_in_gives_is_checked(
    tpch: Catalog, method: str, give: Callable[..., object], message: str, counted: bool
) -> None:
    own = type("Own", (Odd,), {method: staticmethod(give), "__module__": __name__})
    query = Optimizer(tpch).optimize("select r_regionkey from region")
    assert query.plan.columns == 1
    plan = copy(query.plan)
    plan.op, plan.inputs = own(), (query.plan,) if method == "stage" else ()
    counters = Counters() if counted else None
    if not message:
        assert execute(plan, query.columns, tpch.tables, counters).read_all().to_batches() == [REGION]
        return
    with pytest.raises(ExecutionError, match=f"(?s)^odd: {message}.*the operator is Own of .*test_plugins.py"):
        execute(plan, query.columns, tpch.tables, counters).read_all()


def test_every_operator_of_ours_is_listed() -> None:
    found = {kind.__name__ for kind in vars(physical).values() if isinstance(kind, type) and kind is not PhysicalOperator}
    assert found == {kind.__name__ for kind in OPERATORS}


@pytest.mark.parametrize(
    ("body", "settings", "message"),
    [
        (FREE.replace("leaves): return 0.0", "leaves): return 9.0"), ("--cost-models", "free"), "model free says to be"),
        (KEEP.replace("return None", "return bound.nothing"), (), "mine.py, line "),
    ],
)  # fmt: skip
def test_a_bench_calls_no_error_of_a_plug_in_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, settings: tuple[str, ...], message: str
) -> None:
    plugin = written(tmp_path, body)
    assert main(["bench", "pruning", "chain/3", "--modes", "both", "--audit", "-q", "--plugin", plugin, *settings]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: bench pruning: ") and message in error and "or a plug-in gives it what is wrong" in error


def test_a_bench_says_once_what_is_wrong_with_a_plug_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first item; and where it became wrong since, with one prefix."""
    plugin = written(tmp_path, "raise ValueError('odd')")
    assert main(["bench", "pruning", "chain/3", "chain/4", "-q", "--plugin", plugin]) == 2
    said = f"plug-in {plugin}, line 4: ValueError: odd"
    assert capsys.readouterr().err == f"error: {said}\n"
    [item] = pruning.items(Options(("chain/3",), modes=("both",), pairs=(f"plugins={plugin}",)))
    assert measured("pruning", item)[0]["error"] == said


NOTHING = """
from dataclasses import dataclass
import pyarrow as pa

@operator
@dataclass(frozen=True)
class Nothing(PhysicalOperator):
    name = "nothing"
    def cost(self, model, output, inputs): return 1000.0
    def produce(self, node, context):
        for batch in context.open(node.inputs[0]):
            yield pa.record_batch([pa.nulls(len(batch), each.type) for each in batch.columns], schema=batch.schema)

@rule
class FilterToNothing(ImplementationRule):
    name = "filter_to_nothing"
    pattern = node(Filter, ANY)
    def apply(self, bound, context): return (Nothing(),)
"""


def test_null_where_the_query_excludes_it_is_an_error(tmp_path: Path) -> None:
    session = Session(
        {"t": pa.table({"a": [1, 2, 3]})}, {"disable": ("filter_to_filter_rows",)}, plugins=[written(tmp_path, NOTHING)]
    )
    sql = "select count(*) n from t group by a having count(*) < 2"
    with pytest.raises(ExecutionError, match=r"n is NULL in some rows, which the query excludes\n.*mine\.py"):
        session.sql(sql)


@pytest.mark.parametrize(
    ("estimator", "message"), [("histogram", "give it a method estimate"), ("upper_bound", "no bound for peek"), ("true", "peek")]
)
def test_a_logical_operator_that_estimators_do_not_know(tmp_path: Path, tpch: Catalog, estimator: str, message: str) -> None:
    session = Session(tpch, {"estimator": estimator}, plugins=[written(tmp_path, PEEK)])
    with pytest.raises(SettingsError, match=message):
        session.explain("select n_name, r_name from nation join region on n_regionkey = r_regionkey limit 5")


TENANT = """
from dataclasses import replace
import pyarrow as pa

@rule
class OnlyMine(RewriteRule):
    name = "only_mine"
    pattern = node(Scan)

    def apply(self, bound, context):
        scan = bound.op
        if scan.table != "customer" or any(each.source == "c_nationkey" for each in scan.columns):
            return None
        owner = context.columns.new("c_nationkey", pa.int32(), True)
        scan = replace(scan, columns=(*scan.columns, ScanColumn(owner.id, "c_nationkey")))
        mine = Call("=", (ColumnRef(owner.id, owner.type), Literal(3, owner.type)), pa.bool_())
        return Tree(Filter((mine,)), (Tree(scan),))
"""


def test_a_rule_reads_a_stored_column_that_the_text_does_not_name(tmp_path: Path, tpch: Catalog) -> None:
    expected = Session(tpch).sql("select count(*) n from customer where c_nationkey = 3").table
    assert Session(tpch, plugins=[written(tmp_path, TENANT)]).sql("select count(*) n from customer").table == expected
