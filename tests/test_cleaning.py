"""Text of strangers made safe to index and to show."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.cleaning import clean, shorten


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Open\na ticket.\r\n\tNow.", "Open a ticket. Now."),
        ("  much   space  ", "much space"),
        ("be\u0000ll\u0007\u001b[31m", "bell[31m"),
        ("\u202egnp.exe\u202c", "gnp.exe"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("tag\U000e0041\U000e0042", "tag"),
        ("line\u2028separator", "line separator"),
        ("half \ud83d a pair", "half a pair"),
        ("private \ue000 use", "private use"),
        ("smug\ufe01\U000e0131gled", "smuggled"),
        ("\u3164filled\u115f", "filled"),
        ("天气 🌦 Ärger", "天气 🌦 Ärger"),
        ("", ""),
        ("\u0000\u202e", ""),
    ],
)
def test_a_cleaned_text_is_one_line_without_what_hides_text(text: str, cleaned: str) -> None:
    assert clean(text, 100) == cleaned


@given(st.text(), st.integers(0, 40))
def test_a_cleaned_text_is_short_printable_and_clean_already(text: str, limit: int) -> None:
    cleaned = clean(text, limit)
    assert len(cleaned) <= limit
    assert {unicodedata.category(char) for char in cleaned} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} == set()
    assert clean(cleaned, limit) == cleaned


@given(st.text(), st.integers(0, 40))
def test_a_shortened_text_is_the_whole_or_its_start_and_dots(text: str, limit: int) -> None:
    whole = clean(text, 10_000)
    short = shorten(text, limit)
    assert len(short) <= limit
    if len(whole) <= limit:
        assert short == whole
    else:
        assert short.endswith("..."[:limit])
        assert whole.startswith(short.removesuffix("..."[:limit]))


@pytest.mark.parametrize("filler", [" ", "\u200b", "\n"])
def test_what_stands_behind_ever_so_much_nothing_is_not_lost(filler: str) -> None:
    text = f"Open{filler * 200_000} a ticket"
    assert clean(text, 13) == "Open a ticket"
    assert shorten(text, 10) == "Open a..."


def test_a_text_cut_at_a_space_ends_before_it_and_shows_that_it_was_cut() -> None:
    assert clean("ab cd", 3) == "ab"
    assert shorten("abcd e", 4) == "a..."


def test_a_text_of_exactly_the_limit_is_not_shortened() -> None:
    assert shorten("x" * 150, 150) == "x" * 150
    assert shorten("x" * 151, 150) == "x" * 147 + "..."
