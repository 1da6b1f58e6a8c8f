"""Which column of which table has what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from experiments.workloads.imdb_like import words


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
_SHORT = Listed(6.0)
_SEX = Listed(1.5)  # two men to a woman

COLUMNS: dict[str, dict[str, Content]] = {
    "aka_name": {
        "id": Plain.ID,
        "person_id": Reference("name"),
        "name": Text("person", 0.95),
        "imdb_index": _LISTED,
        "name_pcode_cf": _CODE,
        "name_pcode_nf": _CODE,
        "surname_pcode": _LISTED,
        "md5sum": Plain.DIGEST,
    },
    "aka_title": {
        "id": Plain.ID,
        "movie_id": Reference("title"),
        "title": Text("title", 0.9),
        "imdb_index": _LISTED,
        "kind_id": Reference("kind_type"),
        "production_year": Plain.NUMBER,
        "phonetic_code": _CODE,
        "episode_of_id": Reference("aka_title"),
        "season_nr": Plain.NUMBER,
        "episode_nr": Plain.NUMBER,
        "note": _LISTED,
        "md5sum": Plain.DIGEST,
    },
    "cast_info": {
        "id": Plain.ID,
        "person_id": Reference("name"),
        "movie_id": Reference("title"),
        "person_role_id": Reference("char_name"),
        "note": Text("alias_note", 0.02, words.CAST_NOTES, 9.0),
        "nr_order": Plain.NUMBER,
        "role_id": Reference("role_type"),
    },
    "char_name": {
        "id": Plain.ID,
        "name": Text("character", 1.0, words.CHARACTERS),
        "imdb_index": _LISTED,
        "imdb_id": Plain.NOTHING,
        "name_pcode_nf": _CODE,
        "surname_pcode": _CODE,
        "md5sum": Plain.DIGEST,
    },
    "company_name": {
        "id": Plain.ID,
        "name": Text("company", 0.98, words.COMPANIES),
        "country_code": _SHORT,
        "imdb_id": Plain.NOTHING,
        "name_pcode_nf": _CODE,
        "name_pcode_sf": _CODE,
        "md5sum": Plain.DIGEST,
    },
    "complete_cast": {
        "id": Plain.ID,
        "movie_id": Reference("title"),
        "subject_id": Reference("comp_cast_type"),
        "status_id": Reference("comp_cast_type"),
    },
    "keyword": {"id": Plain.ID, "keyword": Text("keyword", 1.0, words.KEYWORDS), "phonetic_code": _CODE},
    "movie_companies": {
        "id": Plain.ID,
        "movie_id": Reference("title"),
        "company_id": Reference("company_name"),
        "company_type_id": Reference("company_type"),
        "note": Text("release_note", 0.03, words.COMPANY_NOTES, 4.0),
    },
    "movie_info": {
        "id": Plain.ID,
        "movie_id": Reference("title"),
        "info_type_id": Reference("info_type"),
        "info": Plain.INFO,
        "note": Text("place_note", 0.05, words.INFO_NOTES, 5.0),
    },
    "movie_info_idx": {
        "id": Plain.ID,
        "movie_id": Reference("title"),
        "info_type_id": Reference("info_type"),
        "info": Plain.INFO,
        "note": Plain.NOTHING,
    },
    "movie_keyword": {"id": Plain.ID, "movie_id": Reference("title"), "keyword_id": Reference("keyword")},
    "movie_link": {
        "id": Plain.ID,
        "movie_id": Reference("title"),
        "linked_movie_id": Reference("title"),
        "link_type_id": Reference("link_type"),
    },
    "name": {
        "id": Plain.ID,
        "name": Text("person", 0.95),
        "imdb_index": _LISTED,
        "imdb_id": Plain.NOTHING,
        "gender": _SEX,
        "name_pcode_cf": _CODE,
        "name_pcode_nf": _CODE,
        "surname_pcode": _LISTED,
        "md5sum": Plain.DIGEST,
    },
    "person_info": {
        "id": Plain.ID,
        "person_id": Reference("name"),
        "info_type_id": Reference("info_type"),
        "info": Plain.INFO,
        "note": Text("person", 0.3, skew=3.0),
    },
    "title": {
        "id": Plain.ID,
        "title": Text("title", 0.65, words.TITLES),
        "imdb_index": _LISTED,
        "kind_id": Reference("kind_type"),
        "production_year": Plain.NUMBER,
        "imdb_id": Plain.NOTHING,
        "phonetic_code": _CODE,
        "episode_of_id": Reference("title"),
        "season_nr": Plain.NUMBER,
        "episode_nr": Plain.NUMBER,
        "series_years": _LISTED,
        "md5sum": Plain.DIGEST,
    },
}
TYPE_COLUMNS = {  # of the tables of types, the text beside the id
    "kind_type": "kind",
    "role_type": "role",
    "link_type": "link",
    "company_type": "kind",
    "comp_cast_type": "kind",
    "info_type": "info",
}
