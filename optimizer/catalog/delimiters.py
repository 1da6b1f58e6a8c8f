"""Whether a CSV file is delimited by something else than was thought."""

_USUAL = (";", "\t", "|", ",")


def rival(delimiter: str, name: str, value: str | None) -> str | None:
    """The other usual delimiter of which both the name of a file's only column and its first value, if any, have as many."""
    for other in _USUAL:
        count = name.count(other) if other != delimiter else 0
        if count and (value is None or value.count(other) == count):
            return other
    return None


def name_of(delimiter: str) -> str:
    """As the option `delimiter` of imports takes it in a shell."""
    return "tab" if delimiter == "\t" else f"'{delimiter}'"
