"""Programs as TOML: what is printed reads back as the same program, and mistakes are named with their place."""

import tomllib
from pathlib import Path

import pytest

from optimizer.errors import SettingsError
from optimizer.prepass.instructions import Batch, Instruction, MatchOrder, Subprogram, rules_of
from optimizer.prepass.program import PROGRAM
from optimizer.prepass.program_text import parse_program, read_program, show_program
from tests.unit.prepass.small_trees import turn

RULE = {rule.name: rule for rule in rules_of(PROGRAM)}
MERGE, PUSH = RULE["filter_merge"], RULE["filter_push_join"]

PROGRAMS: list[tuple[Instruction, ...]] = [
    PROGRAM,
    (MERGE,),
    (Batch("b", (MERGE, PUSH)), MERGE, Batch("empty", ())),
    (Batch("b", (MERGE,), False), Batch("c", (PUSH,), True, MatchOrder.BOTTOM_UP, 5, 7, True)),
    (Subprogram("s", (Batch("a", (MERGE,)), Subprogram("t", (PUSH, MERGE), False), PUSH), passes=3), MERGE),
    (Subprogram("nothing", ()),),
    (Batch('"quoted" \\ \n\t\x7f é 𝔘', (MERGE,)),),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=range(len(PROGRAMS)))
def test_what_is_printed_reads_back(program: tuple[Instruction, ...]) -> None:
    text = show_program(program)
    assert parse_program(text) == program
    assert max(map(len, text.splitlines())) <= 110


def test_the_text_of_a_program() -> None:
    program = (Batch("b", (MERGE,), order=MatchOrder.TOP_DOWN, match_limit=9), Subprogram("s", (PUSH, Batch("c", (), False))))
    assert show_program(program).split("\n") == [
        "[[step]]", 'name = "b"', 'order = "top_down"', "match_limit = 9", "rules = [", '    "filter_merge",', "]", "",
        "[[step]]", 'name = "s"', "", "[[step.step]]", 'rule = "filter_push_join"', "",
        "[[step.step]]", 'name = "c"', "once = true", "rules = []",
    ]  # fmt: skip


def test_own_rules_can_be_named() -> None:
    own = turn(5, 6)
    assert parse_program('[[step]]\nrule = "5_to_6"', known=[own]) == (own,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", "is not valid TOML"),
        ("", "has no steps"),
        ("[[batch]]\nname = 'a'", 'unknown key "batch"\na program is a list of [[step]]'),
        ("step = 3", "steps are tables"),
        ("[[step]]\nname = 'a'", 'step 1: a step has one of "rule", "rules" and [[step.step]]'),
        ("[[step]]\nrules = []", "step 1: it needs a name"),
        ("[[step]]\nrule = 'filter_murge'", 'step 1: unknown rule "filter_murge"\ndid you mean "filter_merge"?'),
        ("[[step]]\nname = 'a'\nrules = ['xyzzy']", 'step "a": unknown rule "xyzzy"\nplanscope rules lists those'),
        ("[[step]]\nname = 'a'\nrules = 'filter_merge'", "rules is a list of names"),
        ("[[step]]\nname = 'a'\nrules = [1]", 'unknown rule "1"'),
        ("[[step]]\nname = 'a'\nrules = []\nodrer = 'top_down'", 'unknown key "odrer"\ndid you mean "order"?'),
        ("[[step]]\nname = 'a'\nrules = []\norder = 'up'", "choose one of arbitrary, depth_first, top_down, bottom_up"),
        ("[[step]]\nname = 'a'\nrules = []\npasses = 0", "passes is a whole number from 1 up, not 0"),
        ("[[step]]\nname = 'a'\nrules = []\nmatch_limit = true", "match_limit is a whole number from 1 up, not True"),
        ("[[step]]\nname = 'a'\nrules = []\nonce = 1", "once is true or false, not 1"),
        ("[[step]]\nname = 'a'\nrules = []\nonce = true\npasses = 3", "once is one pass: leave passes out"),
        ("[[step]]\nrule = 'filter_merge'\nonce = true", 'unknown key "once"'),
        ("[[step]]\nname = 's'\norder = 'top_down'\n[[step.step]]\nrule = 'filter_merge'", 'step "s": unknown key "order"'),
        ("[[step]]\nname = 's'\n[[step.step]]\nrule = 'nope'", 'step "s", step 1: unknown rule "nope"'),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_program(text, source="mine.toml")
    assert str(error.value).startswith("mine.toml") and message in str(error.value)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text(show_program(PROGRAM), encoding="utf-8")
    assert read_program(file) == PROGRAM
    file.write_text(show_program(PROGRAM), encoding="utf-8-sig")
    assert read_program(file) == PROGRAM
    with pytest.raises(SettingsError, match=r"cannot read program .*none\.toml: No such file"):
        read_program(tmp_path / "none.toml")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="is not UTF-8 text"):
        read_program(file)


def test_the_printed_default_is_plain_toml() -> None:
    steps = tomllib.loads(show_program(PROGRAM))["step"]
    assert [step["name"] for step in steps] == [batch.name for batch in PROGRAM]
