"""LIKE without _ and without an escape is looked up part by part: it answers as the walk along the text does."""

from itertools import product

from optimizer.algebra.evaluate_strings import like


def test_patterns_of_percent_and_letters():
    texts = ["".join(letters) for length in range(5) for letters in product("ab", repeat=length)]
    patterns = ["".join(parts) for length in range(5) for parts in product("ab%", repeat=length)]
    for text, pattern in product(texts, patterns):
        assert like(text, pattern) is like(text, pattern, "x"), (text, pattern)  # with an escape the text is walked along
