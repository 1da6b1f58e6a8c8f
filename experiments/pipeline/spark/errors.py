"""What goes wrong in Spark, said in our words: no Java stack, no Python traceback, one message with what to do.

Spark's own exceptions are recognized by the package that defines them, so that this module needs no Spark to be imported.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from optimizer.errors import PlanscopeError

_LONGEST = 500  # characters of Spark's own words that a message may quote


class PipelineError(PlanscopeError):
    """A stage of the pipeline cannot start or go on: no Java, no cluster, a failed task, a full disk, a bad input."""


@contextmanager
def translated(doing: str = "") -> Iterator[None]:
    """Turns failures of Spark, of its Java process and of the connection to it into PipelineError; others pass. `doing` says in
    the message what was going on: "reading orders.csv"."""
    try:
        yield
    except PlanscopeError:
        raise
    except Exception as error:
        if not is_sparks(error):
            raise
        said = explain(error)
        raise PipelineError(f"{doing}: {said}" if doing else said) from error


def is_sparks(error: BaseException) -> bool:
    """Whether `error` was raised by PySpark or Py4J, or says that the process behind them is gone."""
    packages = {cls.__module__.partition(".")[0] for cls in type(error).__mro__}
    return bool(packages & {"pyspark", "py4j", "grpc"}) or isinstance(error, ConnectionError | EOFError)


def explain(error: BaseException) -> str:
    """What a failure of Spark means, and what to do about it, on one or two lines."""
    texts = causes(error)
    for pattern, meaning in _MEANINGS:
        if found := re.search(pattern, "\n".join(texts), re.DOTALL):
            return found.expand(meaning)
    said, reason = _first_line(texts[0]), _first_line(texts[-1])
    return f"Spark failed: {said}" if reason in said else f"Spark failed: {said.rstrip('.')}: {reason}"


# in the order of trial: what is most specific comes first
_MEANINGS = [
    (r"PYTHON_VERSION_MISMATCH\D*?(?P<worker>\d+[.,]\s?\d+)\D+?(?P<driver>\d+[.,]\s?\d+)",
     r"the Spark workers run Python \g<worker>, this process Python \g<driver>: both have to be of one version\n"
     r"set PYSPARK_PYTHON to a matching interpreter that is there on every machine"),
    (r"No module named '(?P<module>[\w.]+)'",
     r"the Spark workers' Python has no module \g<module>\n"
     r"install planscope's dependencies on every machine, or set PYSPARK_PYTHON to an interpreter that has them"),
    (r"Cannot run program \"(?P<python>[^\"]+)\"",
     r"the Spark workers have no program \g<python>\nset PYSPARK_PYTHON to an interpreter that is there on every machine"),
    (r"No space left on device|Disk quota exceeded",
     r"the disk is full: Spark could not write\n"
     r"make room there, or set SPARK_LOCAL_DIRS to a folder that has some for Spark's own files"),
    (r"OutOfMemoryError|GC overhead limit exceeded",
     r"Spark's Java process ran out of memory\n"
     "give it more: --conf spark.driver.memory=8g, or for executors of a cluster --conf spark.executor.memory=8g"),
    (r"(?:Python worker exited unexpectedly|Python worker (?:failed|process terminated)|ExecutorLostFailure|crashed worker)",
     r"a Spark worker process died, again after each retry\n"
     r"it was killed, or it ran out of memory: give the machine more, or run fewer tasks at a time (--master 'local[1]')"),
    (r"ClassNotFoundException: Class org\.apache\.hadoop\.\S*FileSystem not found|No FileSystem for scheme",
     "Spark has no jar that reads and writes such URIs\n"
     "--conf spark.jars.packages=GROUP:NAME:VERSION adds one: for s3a org.apache.hadoop:hadoop-aws, of Hadoop's own version"),
    (r"java\.net\.(?:Connect|NoRouteToHost|UnknownHost|SocketTimeout)\w*Exception: (?P<said>[^\n;]+)",
     r"a server does not answer (\g<said>)\nis its address right, and does it run?"),
    (r"SparkContext was shut down|stopped SparkContext|SparkContext has been shutdown|Answer from Java side is empty|"
     r"Error while (?:sending|receiving)|"
     r"An error occurred while trying to connect to the Java server|Connection refused|Connection reset|Broken pipe|"
     r"An error occurred while calling \S*[^\s.]$",  # no more than that: Py4J got no answer, and passes over why
     r"Spark stopped while it was needed: its Java process was killed, or the cluster ended the application"),
]  # fmt: skip


def causes(error: BaseException) -> list[str]:
    """What Spark says: a Java exception's own text, which Py4J's message leaves out at times, and those of its causes."""
    java, texts = getattr(error, "java_exception", None), list[str]()
    try:
        if java is None and (known := getattr(error, "_origin", None)) is not None:  # PySpark has read its text, not its causes
            java, texts = known.getCause(), [str(error)]
        while java is not None:
            texts.append(str(java.toString()))
            java = java.getCause()
    except Exception as gone:  # the Java process is gone, and with it the text
        texts.append(str(gone))
    return texts or [str(error) or type(error).__name__]


def _first_line(text: str) -> str:
    """The first line that says something, without Spark's error classes, SQL states and Java class names."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("at ", "An error occurred while calling"))]
    line = lines[0] if lines else "no reason given"
    line = re.sub(r"^(?:[\w$]+\.)+[\w$]+(?:Exception|Error)(?:\([\w.$]+\))?:\s*", "", line)
    line = re.sub(r"^\[[A-Z_.0-9]+\]\s*", "", line)
    line = re.sub(r"\s*SQLSTATE: \w+\s*$", "", line)
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
