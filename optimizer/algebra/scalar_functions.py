"""The scalar functions; aggregates and window functions are in `aggregate_functions`."""

import calendar
import math
import operator
import random
from collections.abc import Callable
from functools import partial
from hashlib import md5, sha1, sha256
from typing import Any

import pyarrow as pa

from optimizer.algebra import evaluate_date_text as date_text
from optimizer.algebra import evaluate_dates as dates
from optimizer.algebra import evaluate_more as more
from optimizer.algebra import evaluate_numbers as numbers
from optimizer.algebra import evaluate_regex as regex
from optimizer.algebra import evaluate_strings as strings
from optimizer.algebra.columns import DataType
from optimizer.algebra.evaluate_order import compare_values, order_key
from optimizer.algebra.functions import Function, same_type
from optimizer.algebra.types import BOOLEAN, DATE, DOUBLE, HUGEINT, INT8, INT32, INT64, STRING, TIMESTAMP, is_decimal


def _whole_type(arg: DataType) -> DataType | None:
    return pa.decimal128(arg.precision, 0) if is_decimal(arg) else arg


def _double(name: str, doc: str, reference: Callable[..., Any], raises: bool = False, *parameters: str) -> Function:
    return Function(name, doc, parameters or ("double",), DOUBLE, reference, raises)


def _of_text(name: str, doc: str, gives: DataType, reference: Callable[..., Any], *parameters: str, **more: Any) -> Function:
    return Function(name, doc, ("text", *parameters), gives, reference, **more)


def _text(name: str, doc: str, reference: Callable[..., Any], *parameters: str, **more: Any) -> Function:
    return _of_text(name, doc, STRING, reference, *parameters, **more)


def _form(name: str, doc: str, reference: Callable[..., Any] | None, **more: Any) -> Function:
    """A function that SQL has a form of its own for, or an operator."""
    return Function(name, doc, reference=reference, **more)


def _comparison(name: str, holds: Callable[[int, int], bool]) -> Function:
    return _form(name, "comparison; both sides of one type", lambda a, b: holds(compare_values(a, b), 0))


def _distinct(a: Any, b: Any) -> bool:
    return (a is None) != (b is None) if a is None or b is None else compare_values(a, b) != 0


def _whole(of: Callable[[int, int], int], a: int, b: int, type: DataType) -> Any:
    return numbers.fit(of(a, b), type)


def _extreme(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: of((v for v in args if v is not None), key=order_key, default=None)


_FORMS = (
    _comparison("=", operator.eq),
    _comparison("<>", operator.ne),
    _comparison("<", operator.lt),
    _comparison("<=", operator.le),
    _comparison(">", operator.gt),
    _comparison(">=", operator.ge),
    _form("is_distinct_from", "<> with NULL as an ordinary value; never NULL", _distinct, strict=False),
    _form("is_not_distinct_from", "= with NULL as an ordinary value; never NULL", lambda a, b: not _distinct(a, b), strict=False),
    _form("and", "three-valued AND of two or more booleans", None, strict=False),
    _form("or", "three-valued OR of two or more booleans", None, strict=False),
    _form("not", "three-valued NOT", operator.not_),
    _form("is_null", "TRUE where the argument is NULL; never NULL", lambda x: x is None, strict=False),
    _form("is_not_null", "TRUE where the argument is not NULL; never NULL", lambda x: x is not None, strict=False),
    _form("coalesce", "the first argument that is not NULL; later ones are not evaluated where one was found", None,
        strict=False),
    _form("+", "addition; integers of one type, decimals (exact), or doubles", numbers.add, raises=True, typed=True),
    _form("-", "subtraction; as +", numbers.subtract, raises=True, typed=True),
    _form("*", "multiplication; as +", numbers.multiply, raises=True, typed=True),
    _form("/", "division of two doubles, or floats, IEEE 754 (x/0 is inf or NaN)", numbers.divide, typed=True),
    _form("//", "division truncating to an integer, of integers; of doubles the plain quotient; NULL when the divisor is 0",
        numbers.integer_divide, raises=True, typed=True),
    _form("%", "remainder with the sign of the dividend; by 0 it is NULL, of doubles NaN", numbers.remainder, raises=True,
        typed=True),
    _form("neg", "minus x", numbers.negate, raises=True, typed=True),
    Function("abs", "absolute value", ("number",), same_type, numbers.absolute, raises=True, typed=True),
    _form("round", "round(x, digits): half away from zero; of a decimal, digits is a constant", numbers.round_to, raises=True,
        typed=True),
    _form("floor", "largest integer not above x; fdiv(a, b): floor(a / b); fmod(a, b): a - b * fdiv(a, b)",
        partial(numbers.floor_or_ceil, up=False), typed=True),
    _form("ceil", "smallest integer not below x", partial(numbers.floor_or_ceil, up=True), typed=True),
    _double("sqrt", "square root of a double; negative raises", numbers.square_root, True),
    Function("power", "power of doubles, IEEE 754", ("double", "double"), DOUBLE, numbers.power, spelled=("pow",)),
    _double("ln", "natural logarithm of a double; not positive raises", numbers.logarithm, True),
    _double("exp", "e to the x", numbers.exponential),
    _form("greatest", "the largest argument that is not NULL", _extreme(max), strict=False),
    _form("least", "the smallest argument that is not NULL", _extreme(min), strict=False),
    _form("concat", "|| of two strings", operator.add),
    _form("like", "like(s, pattern[, escape]): % any run, _ one character; pattern may be any string expression", strings.like),
    _form("ilike", "like, ignoring case", lambda s, p, escape="": strings.like(strings.lower(s), strings.lower(p), escape)),
    _of_text("glob", "x GLOB pattern: * any run, ? one byte, [a-z] one of these, [!a] another; the case counts", BOOLEAN,
        more.glob, "text"),
    _text("upper", "upper case", strings.upper, spelled=("ucase",)),
    _text("lower", "lower case", strings.lower, spelled=("lcase",)),
    _of_text("length", "number of characters, int64", INT64, len, spelled=("len", "char_length", "character_length")),
    _form("substring", "substring(s, start, [length]): 1-based characters; negative start counts from the end",
        strings.substring),
    _text("trim", "without spaces at both ends", lambda s: s.strip(strings.SPACES)),
    _text("ltrim", "without spaces at the left end", lambda s: s.lstrip(strings.SPACES)),
    _text("rtrim", "without spaces at the right end", lambda s: s.rstrip(strings.SPACES)),
    _text("replace", "replace(s, from, to)", strings.replace, "text", "text"),
    _of_text("starts_with", "starts_with(s, prefix)", BOOLEAN, str.startswith, "text", spelled=("prefix",)),
    _of_text("strpos", "strpos(s, part): 1-based position, 0 when absent, int64", INT64, lambda s, part: s.find(part) + 1,
        "text", spelled=("instr",)),
    *(_form(part, f"extract({part} from date or timestamp), int64", reference) for part, reference in dates.PARTS.items()),
    _form("date_add", "date_add(timestamp, interval): calendar months first (day clipped), then days, then time", dates.date_add,
        raises=True),
    _form("date_add_days", "date_add_days(date, integer): a date that many days later", dates.date_add_days, raises=True),
    _form("date_diff_days", "date_diff_days(a, b): a - b of two dates in days, int64", lambda a, b: (a - b).days),
    _form("microseconds_between", "microseconds_between(a, b): a - b of two timestamps, int64", dates.microseconds_between),
    _form("to_interval", "to_interval(microseconds): whole days and the rest", dates.to_interval),
    _form("interval_times", "interval_times(interval, count)", dates.interval_times, raises=True),
    _form("date_trunc", "date_trunc(unit, timestamp): unit is a string literal", dates.date_trunc, typed=True),
    Function("random", "a double in [0, 1), new on every row", (), DOUBLE, random.random, volatile=True),
)  # fmt: skip

_CALLED = (
    _of_text("regexp_matches", "whether a part of the text matches", BOOLEAN, regex.matches, "regex", "options?", raises=True),
    _of_text("regexp_full_match", "whether the whole text matches; also x ~ r, x SIMILAR TO r; x ~* r ignores case", BOOLEAN,
        regex.full_match, "regex", "options?", raises=True),
    _text("regexp_replace", "the text with the first match replaced, or all with the option g; \\\\1 is the first group",
        regex.replaced, "regex", "text", "options?", raises=True),
    _text("regexp_extract", "the first match, or its group of that number; empty where there is none", regex.extracted, "regex",
        "integer?", "options?", raises=True),
    _text("lpad", "cut or filled up at the left", lambda s, n, f: more.padded(s, n, f, True), "integer", "text", raises=True),
    _text("rpad", "cut or filled up at the right", lambda s, n, f: more.padded(s, n, f, False), "integer", "text", raises=True),
    _text("reverse", "the code points from the last to the first", lambda s: s[::-1]),
    _text("repeat", "the text so many times", more.repeat, "integer", raises=True),
    _text("left", "the first characters; below 0 all but so many at the end", lambda s, n: s[:n], "integer"),
    _text("right", "the last characters; below 0 all but so many at the start", more.right, "integer"),
    _text("split_part", "the part of that number between separators; below 0 from the end", more.split_part, "text", "integer"),
    _text("translate", "each character of the second text becomes its partner in the third", more.translate, "text", "text"),
    _text("trim_of", "without the given characters at both ends: trim(x, c)", str.strip, "text"),
    _text("ltrim_of", "without the given characters at the start: ltrim(x, c)", str.lstrip, "text"),
    _text("rtrim_of", "without the given characters at the end: rtrim(x, c)", str.rstrip, "text"),
    _text("md5", "the MD5 hash in hexadecimal digits", lambda s: md5(s.encode(), usedforsecurity=False).hexdigest()),
    _text("sha1", "the SHA-1 hash in hexadecimal digits", lambda s: sha1(s.encode(), usedforsecurity=False).hexdigest()),
    _text("sha256", "the SHA-256 hash in hexadecimal digits", lambda s: sha256(s.encode()).hexdigest()),
    _text("strip_accents", "the letters without their accents", more.strip_accents),
    _text("bin", "a text or an integer in binary digits", more.binary),
    Function("concat_ws", "the texts that are not NULL, with a separator between", ("text", "texts"), STRING,
        lambda by, *texts: None if by is None else by.join(t for t in texts if t is not None), strict=False),
    Function("array_slice", "s[n:m]: from one character to another", ("text", "integer", "integer"), STRING, more.part),
    _of_text("hex", "a text or an integer in hexadecimal digits", STRING, more.hexadecimal, spelled=("to_hex",)),
    Function("chr", "the character with that code", ("integer",), STRING, more.character, raises=True),
    _of_text("ascii", "the code of the first character, 0 without one", INT32, lambda s: ord(s[0]) if s else 0),
    _of_text("unicode", "the code of the first character, -1 without one", INT32, lambda s: ord(s[0]) if s else -1,
        spelled=("ord",)),
    _of_text("strlen", "the number of bytes", INT64, lambda s: len(s.encode())),
    _of_text("bit_length", "the number of bits", INT64, lambda s: 8 * len(s.encode())),
    _of_text("levenshtein", "the edits of bytes between two texts", INT64, more.levenshtein, "text", spelled=("editdist3",)),
    _of_text("ends_with", "whether the text ends with the other", BOOLEAN, str.endswith, "text", spelled=("suffix",)),
    _double("log10", "the logarithm to base 10, also log(x)", more.log10, True),
    _double("log2", "the logarithm to base 2", more.log2, True),
    _double("log", "log(b, x): the logarithm of x to base b", more.log_to, True, "double", "double"),
    *(
        _double(n, f"the {w} of an angle in radians", partial(more.trigonometric, n), True)
        for n, w in (("sin", "sine"), ("cos", "cosine"), ("tan", "tangent"), ("cot", "cotangent"))
    ),
    *(_double(n, f"the angle with that {w}", partial(more.arc, n), True) for n, w in (("asin", "sine"), ("acos", "cosine"))),
    *(
        _double(n, f"the hyperbolic {w}", partial(more.hyperbolic, n), n == "atanh")
        for n, w in (
            ("sinh", "sine"), ("cosh", "cosine"), ("tanh", "tangent"), ("asinh", "sine, inverted"),
            ("acosh", "cosine, inverted; NaN below 1"), ("atanh", "tangent, inverted"),
        )
    ),
    _double("atan", "the angle with that tangent", math.atan),
    _double("atan2", "the angle of the point (x, y)", math.atan2, False, "double", "double"),
    _double("degrees", "radians as degrees", lambda x: x * (180 / math.pi)),
    _double("radians", "degrees as radians", lambda x: x * (math.pi / 180)),
    _double("cbrt", "the cube root", math.cbrt),
    _double("even", "the next even number away from 0", more.even),
    Function("pi", "the number π", (), DOUBLE, lambda: math.pi),
    Function("trunc", "without what stands after the point; trunc(x, n): after n digits behind it", ("number",), _whole_type,
        more.truncated, typed=True),
    Function("sign", "-1, 0 or 1", ("number",), INT8, more.sign),
    Function("isnan", "whether it is no number", ("double",), BOOLEAN, math.isnan),
    Function("isinf", "whether it is infinite", ("double",), BOOLEAN, math.isinf),
    Function("isfinite", "whether it is neither", ("double",), BOOLEAN, math.isfinite),
    *(
        Function(name, doc, ("integer", "integer"), INT64, partial(_whole, of), raises=True, typed=True, spelled=(spelled,))
        for name, doc, of, spelled in (
            ("gcd", "the greatest common divisor", math.gcd, "greatest_common_divisor"),
            ("lcm", "the least common multiple", math.lcm, "least_common_multiple"),
        )
    ),
    Function("factorial", "n!, up to 33", ("integer",), HUGEINT, more.factorial, raises=True),
    *(
        Function(name, doc, ("integers", "integers"), same_type, fold)
        for name, doc, fold in (
            ("bit_and_of", "a & b: the bits that both have", operator.and_),
            ("bit_or_of", "a | b: the bits that one has", operator.or_),
            ("xor", "the bits that only one has", operator.xor),
        )
    ),
    Function("bit_count", "how many bits are 1", ("integer",), INT8, lambda a, bits: (a & (1 << bits) - 1).bit_count()),
    Function("bit_not", "~a: the other bits", ("integers",), same_type, more.bit_not, typed=True),
    Function("shift_left", "a << n", ("integers", "integers"), same_type, more.shift_left, raises=True, typed=True),
    Function("shift_right", "a >> n", ("integers", "integers"), same_type, more.shift_right, typed=True),
    Function("last_day", "the last day of its month", ("moment",), DATE, more.last_day),
    Function("dayname", "Monday, …", ("moment",), STRING, lambda d: calendar.day_name[d.weekday()]),
    Function("monthname", "January, …", ("moment",), STRING, lambda d: calendar.month_name[d.month]),
    Function("strftime", "the moment as text, by a format as `%Y-%m-%d %H:%M`", ("moment", "format"), STRING,
        date_text.formatted),
    Function("make_date", "the date of a year, a month and a day", ("integer", "integer", "integer"), DATE, more.make_date,
        raises=True),
    Function("strptime", "the moment that a text is, by such a format", ("text", "format"), TIMESTAMP, date_text.read,
        raises=True),
    Function("try_strptime", "as strptime, NULL for other texts", ("text", "format"), TIMESTAMP, date_text.read_or_null),
    Function("make_timestamp",
        "the moment of year, month, day, hour, minute and second; of one integer: of so many microseconds since 1970",
        (*["integer"] * 5, "double"), TIMESTAMP, more.make_timestamp, raises=True),
    Function("time_bucket",
        "the start of its stretch of that length, counted from 2000-01-03 (months from 2000-01-01) or from the third argument; "
        "of dates a date",
        ("interval", "moment", "moment?"), TIMESTAMP, dates.time_bucket, raises=True),
    Function("epoch", "seconds since 1970; epoch_ms, epoch_us, epoch_ns: whole smaller units; epoch_ms(integer) is the moment",
        ("moment",), DOUBLE, more.epoch),
    *(Function(name, doc, ("moment",), INT64, part) for name, doc, part in dates.FURTHER_PARTS),
    Function("isodow", "the day of the week, Monday is 1", ("moment",), INT64, lambda d: d.isoweekday()),
    Function("isoyear", "the year that its week belongs to", ("moment",), INT64, lambda d: d.isocalendar().year),
    *(
        Function(name, doc, ("unit", "timestamp", "timestamp"), INT64, reference, spelled=(spelled,))
        for name, doc, reference, spelled in (
            ("date_diff", "how many starts of a unit lie between two moments", more.boundaries, "datediff"),
            ("date_sub", "how many whole ones of a unit lie between two moments", more.whole_units, "datesub"),
        )
    ),
)  # fmt: skip

SCALAR_FUNCTIONS = {f.name: f for f in (*_FORMS, *_CALLED)}
# written as operators and forms: no text calls them so
_BY_FORM = ("bit_and_of", "bit_or_of", "bit_not", "shift_left", "shift_right", "trim_of", "ltrim_of", "rtrim_of", "trim", "glob")
_BY_NAME = [f for f in SCALAR_FUNCTIONS.values() if f.parameters is not None and f.name not in _BY_FORM]
SCALAR_NAMES = {name: f for f in _BY_NAME for name in (f.name, *f.spelled)}
