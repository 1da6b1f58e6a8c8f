"""The reference of traces, written from the vocabulary of events."""

from collections.abc import Iterable, Mapping

from experiments.documentation.markdown import table
from optimizer.trace.recorder import FORMAT, VERSION
from optimizer.trace.vocabulary import Field, Kind, vocabulary

_HEAD = f"""# Traces

Written by `python -m experiments.documentation` from `optimizer/trace/vocabulary.json`; do not edit.

A trace tells all that a search did. `planscope trace SQL -o trace.jsonl` writes one, `planscope step trace.jsonl` walks through
it, and the memo, the goals and the stack of tasks can be rebuilt at every event from the trace alone:

```python
from planscope import Replay

replay = Replay.load("trace.jsonl")
state = replay.seek(500)  # after the first 500 events, that is, after event 499
```

## The file

One JSON object a line, UTF-8, an event each, in the order in which things happened. The first is the header. An infinite number
is the text `"inf"`. A reader leaves kinds and fields alone that it does not know.

The format is `{FORMAT}`, its version {VERSION}. The version is raised when a reader of the version before could not read the file
any more, and not for new kinds and fields. A file of another version is refused. A file that was cut or damaged is read up to
the line that is at fault, and that line is named.

Two traces of one query under the same settings are equal but for the times `t`.

**Stages before the search** come first: a `rewrite` for each firing, and the whole tree after each stage (`stage`). Trees are
flat: the operators, parents first, each with its depth. A `rewrite` says where its part stands in the whole tree, so that a
reader can go from tree to tree; `at` is null where the part stands there no longer, as when several steps looked at one tree.

**The search** names groups, multi-expressions, goals, tasks and events by number. A goal is a group with the traits wanted, or
a set of relations that is no group. A set of relations without a group has in a state the group number −2 − goal, and so has the
join chosen for it as a multi-expression.

**At the end** comes the `plan`.
"""


def page() -> str:
    """The whole page."""
    known = vocabulary()
    lines = [
        _HEAD,
        "## Every event\n",
        *_fields(known.common),
        "\n## Kinds of events\n",
        "The sentence is what viewers say of an event. In braces stand fields, and parts that depend on them.",
    ]
    for kind in known.kinds.values():
        lines += ["", f"### `{kind.name}`\n", f"{kind.meaning}\n", *_fields(kind.fields), *_words(kind)]
    lines += [
        "\n## Facts\n",
        "Sentences also use what follows from the event and the state after it.\n",
        *_fields(known.facts),
        "\n## Types of fields\n",
        "A `?` after a type: the field may be missing, or null.\n",
        *table(("type", "is"), ((f"`{name}`", meaning) for name, meaning in known.types.items())),
        "",
    ]
    return "\n".join(lines)


def _fields(fields: Mapping[str, Field]) -> Iterable[str]:
    if fields:
        rows = ((f"`{f.name}`", f.type + "?" * f.optional, f.meaning) for f in fields.values())
        yield from (*table(("field", "type", "meaning"), rows), "")


def _words(kind: Kind) -> Iterable[str]:
    yield f"> {kind.sentence}"
    for name, cases in kind.parts.items():
        yield f"\nThe part `{name}`:\n"
        yield from table(("where there are", "it says"), ((_names(names), _said(text)) for names, text in cases))
    for name, said in kind.values.items():
        yield f"\nThe field `{name}`:\n"
        yield from table(("value", "it says"), ((f"`{value}`", _said(text)) for value, text in said.items()))


def _names(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names) or "none of these"


def _said(text: str) -> str:
    return text.strip() or "nothing"
