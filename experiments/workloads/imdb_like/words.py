"""Lists of words that texts are made of, and texts that are common in IMDB's columns: those of words.toml."""

import tomllib
from pathlib import Path

_LISTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))

GIVEN = tuple(_LISTS["given"])
SURNAMES = tuple(_LISTS["surnames"])
ADJECTIVES = tuple(_LISTS["adjectives"])
NOUNS = tuple(_LISTS["nouns"])
PLACES = tuple(_LISTS["places"])
COUNTRIES = tuple(_LISTS["countries"])
LANGUAGES = tuple(_LISTS["languages"])
GENRES = tuple(_LISTS["genres"])
COLORS = tuple(_LISTS["colors"])
SOUNDS = tuple(_LISTS["sounds"])
RATINGS = tuple(_LISTS["ratings"])
MONTHS = tuple(_LISTS["months"])
TRADES = tuple(_LISTS["trades"])
FORMATS = tuple(_LISTS["formats"])
CAST_NOTES = tuple(_LISTS["cast_notes"])
INFO_NOTES = tuple(_LISTS["info_notes"])
COMPANY_NOTES = tuple(_LISTS["company_notes"])
COMPANIES = tuple(_LISTS["companies"])
TITLES = tuple(_LISTS["titles"])
KEYWORDS = tuple(_LISTS["keywords"])
CHARACTERS = tuple(_LISTS["characters"])
