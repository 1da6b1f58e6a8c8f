"""A ~ before a name that is no user's is a part of a name, as in a shell."""

from pathlib import Path

import pytest

from experiments.bench.inputs import settings_files
from experiments.pipeline.intake.request import ImportRequest, import_dataset
from experiments.pipeline.spark.session import unheard
from experiments.pipeline.stages.spec import Stage
from experiments.pipeline.sweep.query_names import find_queries
from experiments.workloads.cache import cache_folder
from experiments.workloads.queries import resolve_sql
from optimizer.errors import SqlError
from optimizer.settings import Settings
from tests.pipeline.conftest import lay, no_spark

NOBODY = "~nosuchuser"


def test_nobody_s_home_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lay(tmp_path, {f"{NOBODY}.csv": "a\n1\n"}))
    made = import_dataset(ImportRequest((f"{NOBODY}.csv",), f"{NOBODY}/out"), no_spark, unheard)
    assert (Path(made.place) / "schema.sql").is_file() and made.place == f"{NOBODY}/out"
    for ask in (resolve_sql, lambda text: find_queries(text, tmp_path)):
        with pytest.raises(SqlError, match="nosuchuser"):
            ask(f"@{NOBODY}.sql")
    monkeypatch.setenv("PLANSCOPE_HOME", NOBODY)
    assert cache_folder() == tmp_path / NOBODY == Stage("import", {}, tmp_path).path(NOBODY)
    assert settings_files(Settings(plugins=(f"{NOBODY}.py",))) == {}
