"""What would be if figures were others: plans, plan diagrams, the command."""

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from executor.session import Session
from experiments.cli import main
from memo_viz.plan_diagram import _Scale, colour, plan_diagram_svg
from optimizer.errors import SettingsError
from optimizer.explanation.answer import Answer
from optimizer.explanation.row_change import RowChange
from tests.explanation.test_recost import QUERIES, SHOP, rows_of


def test_the_winner_changes_where_the_plan_before_costs_more() -> None:
    what_if = Session(SHOP).what_if(QUERIES[0])
    same = what_if.under()
    assert not same.winner_changes and same.before == pytest.approx(same.plan.cost) == pytest.approx(what_if.query.cost)
    changed = [what_if.under(rows_of(change)) for change in ({"b c": 1e6}, {"a": 1}, {"a b": 1e7})]
    assert any(each.winner_changes for each in changed)
    for each in changed:
        assert each.before >= each.plan.cost * (1 - 1e-9)
        assert ("winner changes" in each.show()) is each.winner_changes is each.json["winner_changes"]
    with pytest.raises(SettingsError, match=r"no inner join of exactly \{zebra\}.*\nits relations are a, b, c, d"):
        what_if.under(rows_of({"zebra": 1}))
    with pytest.raises(SettingsError, match=r"\{a, b\} cannot be 1e\+101: a number from 0 to 1e\+100"):
        what_if.under(rows_of({"a b": 1e101}))
    for ask in (lambda: what_if.under({"b": 1e6}), lambda: what_if.diagram([("b", None, None)])):
        with pytest.raises(SettingsError, match=r"'b' is no set of relations: write frozenset"):
            ask()


@pytest.mark.parametrize("sql", [QUERIES[0], QUERIES[3]])
def test_a_plan_that_a_gap_allowed_is_not_the_winner(sql: str) -> None:
    """Under the gap a dearer plan was found, and told to be the winner that stays."""
    found = Session(SHOP, {"gap": 0.5}).what_if(sql).under(factors={"sort": 1.0})
    assert found.plan.cost == pytest.approx(Session(SHOP).optimize(sql).cost)
    assert found.winner_changes is (found.before > found.plan.cost * 1.001)


def test_what_was_not_searched_is_not_said_to_be_dearer() -> None:
    sql = "select count(*) from a left join b on a.k = b.k join c on a.x = c.j join d on a.x = d.y left join c e on b.j = e.j"
    for proven, settings in ((True, {}), (False, {"exact_mixed_sets": 1, "exact_mixed_below": 2}), (False, {"budget_tasks": 20})):
        what_if = Session(SHOP, settings).what_if(sql)
        diagram, found = what_if.diagram([({"a"}, None, None)], points=2), what_if.under(rows_of({"a": 30}))
        for answer in (diagram, found):
            assert answer.proven is proven is answer.json["proven"]
            assert ("of the plans that were searched" in answer.show()) is not proven
        changed = RowChange(frozenset("a"), 1.0, 2.0, 3.0, found.proven)
        answer = Answer("a plan", "exists", None, 3.0, 2.0, change=changed)
        assert ("and no plan less" if proven else "and no plan that was searched less") in answer.text


def test_a_diagram_has_the_winner_of_each_point() -> None:
    what_if = Session(SHOP).what_if(QUERIES[0])
    one = what_if.diagram([(frozenset("a"), 1.0, 1e6)], points=6)
    assert one.svg.startswith("<svg") and "max-width:100%" in one._repr_svg_() and repr(one) == one.show()
    (axis,) = one.axes
    assert len(one.plans) > 1 and axis.estimate == 1000 and axis.selectivity[-1] == 1e3
    for value, cost in zip(axis.values, one.costs[0], strict=True):
        assert cost == pytest.approx(what_if.under({axis.aliases: value}).plan.cost)
    met = [one.cells[0][0], *(switch.right for switch in one.switches)]
    assert [s.left for s in one.switches] == met[:-1] and met[-1] == one.cells[0][-1]
    assert all(a.rows < b.rows for a, b in pairwise(one.switches))
    assert f"P{met[0] + 1} → P{met[1] + 1}" in one.show()
    for low, high in ((1e9, None), (None, 0.1)):  # far from the estimate
        (axis,) = what_if.diagram([(frozenset("a"), low, high)], points=2).axes
        assert axis.values[1] == pytest.approx(10 * axis.values[0])
    two = what_if.diagram([(frozenset("a"), 1.0, 1e6), (frozenset("bc"), None, None)], points=3)
    assert len(two.cells) == len(two.cells[0]) == 3 and not two.switches
    for picture in (one, two):
        svg = ElementTree.fromstring(plan_diagram_svg(picture.json, 'a "<b>" \x1b query'))
        texts = "".join(svg.itertext())
        assert "the estimate" in texts and "HJ hash join" in texts
        assert 'a "<b>"' in texts and "\x1b" not in texts and f"P{len(picture.plans)}" in texts


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (2, 150_000, "10 100 1,000 10,000 100,000"), (30, 300, "50 100 200"),
        (10_893, 15_117, "11,000 12,000 13,000 14,000 15,000"), (1e6, 1e9, "10⁶ 10⁷ 10⁸ 10⁹"), (1e12, 3e12, "10¹² 2·10¹² 3·10¹²"),
        (5, 5, "5"), (0, 0, "0 0.4 0.6 0.8 1"), (0, 700, "0 200 400 600"),
    ],
)  # fmt: skip
def test_axes_have_round_numbers_written_in_one_way(low: float, high: float, labels: str) -> None:
    assert [label for label, _ in _Scale([low, high], 0, 1).ticks()] == labels.split()


@pytest.fixture
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "a.csv").write_text("k,x\n" + "".join(f"{i},{i % 5}\n" for i in range(200)))
    (folder / "b.csv").write_text("k,y\n" + "".join(f"{i % 200},{i % 7}\n" for i in range(900)))
    return str(folder)


JOIN = "select a.x, count(*) from a join b on a.k = b.k group by a.x"


def test_the_command(shop: str, capsys: pytest.CaptureFixture[str], tmp_path: pytest.TempPathFactory) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["what-if", JOIN, "-d", shop, *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    code, out, _ = run("--rows", "{a}=1e7", "--cost", "hash_join=100", "--format", "json")
    assert code == 0 and set(json.loads(out)) >= {"winner_changes", "cost", "plan"}
    assert "the winner stays" in run("--rows", "b=900")[1]
    picture = f"{tmp_path}/d.svg"
    assert run("--sweep", "{a,b}=1..1e6", "--points", "5", "-o", picture)[0] == 0
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    for axes in (("--sweep", "a"), ("--sweep", "a", "--sweep", "{a,b}=1..1e6")):
        for ending, head in (("png", b"\x89PNG"), ("pdf", b"%PDF")):
            assert run(*axes, "--points", "5", "-o", f"{tmp_path}/d.{ending}") == (0, "", "")
            assert Path(f"{tmp_path}/d.{ending}").read_bytes().startswith(head)
    assert main(["what-if", "select * from a", "-d", shop, "--set", "cost_model=c_out", "--sweep", "a", "-o", picture]) == 0
    for arguments, part in (
        ((), "say what is to be another"),
        (("--rows", "{a}=many"), "is no number"),
        (("--cost", "hashjoin=2"), 'no operator "hashjoin"; did you mean "hash_join"?'),
        (("--cost", "zebra=2"), 'no operator "zebra"; there are constant_rows, '),
        (("--sweep", "{a}=9..1"), "is no range"),
        (("--sweep", "a", "--rows", "a=1"), "leave --rows out"),
        (("--rows", "zebra=1"), "its relations are a, b"),
        (("--rows", "a=1", "-o", "x.svg"), "add --sweep"),
    ):
        code, _, err = run(*arguments)
        assert code == 2 and part in err, err


def test_names_with_blanks_are_whole(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in ("order items", "v1.0={x}, too"):
        (tmp_path / f"{name}.csv").write_text("k\n1\n2\n")
    sql = """select * from "order items" a join "order items" on a.k = "order items".k
             join "v1.0={x}, too" on "v1.0={x}, too".k = a.k"""
    assert main(["memo", sql, "-q", "-d", str(tmp_path)]) == 0
    assert "\norder items  G" in capsys.readouterr().out
    for names in ("{order items}", "{ A , Order items}", "order items,a", '"order items"', '{a,"v1.0={x}, too"}'):
        assert main(["what-if", sql, "-d", str(tmp_path), "--rows", f"{names}=50"]) == 0, names
        for span in ("", "=1..9"):
            assert main(["what-if", sql, "-d", str(tmp_path), "--sweep", f"{names}{span}", "--points", "2"]) == 0, names


def test_one_alias_in_two_query_blocks_is_no_join() -> None:
    """The scans have the rows, not what joins them."""
    session = Session({"t": {"a": list(range(50)), "b": [i % 10 for i in range(50)]}})
    found = session.what_if("select o.a from t o join (select o.a as k, b from t o) s on o.b = s.b").under(rows_of({"o": 100}))
    assert [node.rows for node in found.plan.walk() if not node.inputs] == [100.0, 100.0] and found.plan.rows > 100.0


def test_no_two_plans_have_one_colour() -> None:
    assert len({colour(number) for number in range(60)}) == 60
