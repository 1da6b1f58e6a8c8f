"""Which column of which table has what."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from experiments.workloads.imdb_like import words
from experiments.workloads.imdb_like.figures import TYPES, tables


class Plain(Enum):
    ID = "1, 2, 3, ... in the order of the rows"
    NUMBER = "integers by their published deciles"
    INFO = "texts that go with the row's info_type_id (infos.py)"
    DIGEST = "32 hexadecimal digits"
    NOTHING = "NULL in every row"


@dataclass(frozen=True, slots=True)
class Reference:
    """Ids of `table`, more or less often as the published deciles say."""

    table: str


@dataclass(frozen=True, slots=True)
class Text:
    """Texts of a `kind` (texts.py), `heads` among the most frequent ones.

    `share`: distinct values per value at scale 1, where nothing is published; `skew`: how uneven (ranks.py).
    """

    kind: str
    share: float
    heads: Sequence[str] = ()
    skew: float = 1.5


@dataclass(frozen=True, slots=True)
class Listed:
    """The published values."""

    skew: float


Content = Plain | Reference | Text | Listed

_CODE = Text("code", 0.01)
_LISTED = Listed(3.0)  # of d values the first has a share of about d to the power of -1/3
_REFERENCES = {
    "person_id": "name", "movie_id": "title", "linked_movie_id": "title", "episode_of_id": "title", "kind_id": "kind_type",
    "role_id": "role_type", "person_role_id": "char_name", "subject_id": "comp_cast_type", "status_id": "comp_cast_type",
    "company_id": "company_name", "company_type_id": "company_type", "info_type_id": "info_type", "keyword_id": "keyword",
    "link_type_id": "link_type",
}  # fmt: skip
_USUAL: dict[str, Content] = {  # of columns of a name
    **{name: Reference(table) for name, table in _REFERENCES.items()},
    **dict.fromkeys(("production_year", "season_nr", "episode_nr", "nr_order"), Plain.NUMBER),
    **dict.fromkeys(("name_pcode_cf", "name_pcode_nf", "name_pcode_sf", "phonetic_code"), _CODE),
    **dict.fromkeys(("imdb_index", "series_years", "surname_pcode"), _LISTED),
    "id": Plain.ID,
    "info": Plain.INFO,
    "md5sum": Plain.DIGEST,
    "imdb_id": Plain.NOTHING,
    "name": Text("person", 0.95),
    "keyword": Text("keyword", 1.0, words.KEYWORDS),
    "country_code": Listed(6.0),
    "gender": Listed(1.5),  # two men to a woman
}
_OWN: dict[str, Content] = {  # of a table's
    "aka_title.title": Text("title", 0.9),
    "aka_title.episode_of_id": Reference("aka_title"),
    "aka_title.note": _LISTED,
    "cast_info.note": Text("alias_note", 0.02, words.CAST_NOTES, 9.0),
    "char_name.name": Text("character", 1.0, words.CHARACTERS),
    "char_name.surname_pcode": _CODE,
    "company_name.name": Text("company", 0.98, words.COMPANIES),
    "movie_companies.note": Text("release_note", 0.03, words.COMPANY_NOTES, 4.0),
    "movie_info.note": Text("place_note", 0.05, words.INFO_NOTES, 5.0),
    "movie_info_idx.note": Plain.NOTHING,
    "person_info.note": Text("person", 0.3, skew=3.0),
    "title.title": Text("title", 0.65, words.TITLES),
}
COLUMNS = {
    table: {name: _OWN.get(f"{table}.{name}") or _USUAL[name] for name in columns}
    for table, columns in tables().items()
    if table not in TYPES
}
