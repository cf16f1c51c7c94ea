"""Names as machines write them: the words inside, and what makes two spellings the same name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.identifiers import last_segment, runs, split_identifier, squash, words


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("createIssue", ["create", "Issue"]),
        ("CreateIssue", ["Create", "Issue"]),
        ("create_issue", ["create", "issue"]),
        ("create-issue", ["create", "issue"]),
        ("CREATE_ISSUE", ["CREATE", "ISSUE"]),
        ("parseHTTPResponse", ["parse", "HTTP", "Response"]),
        ("HTTPServer", ["HTTP", "Server"]),
        ("getURL", ["get", "URL"]),
        ("github__create_issue", ["github", "create", "issue"]),
        ("s3", ["s3"]),
        ("EC2Instance", ["EC2", "Instance"]),
        ("s3Bucket", ["s3", "Bucket"]),
        ("étéÉlevé", ["été", "Élevé"]),
        ("создатьЗадачу", ["создать", "Задачу"]),
        ("grössteŁódź", ["grösste", "Łódź"]),
        ("x", ["x"]),
        ("__", []),
        ("", []),
    ],
)
def test_an_identifier_is_split_at_its_humps_and_joints_and_keeps_its_case(name: str, parts: list[str]) -> None:
    assert split_identifier(name) == parts


@given(st.text())
def test_splitting_loses_no_letter_and_no_digit(name: str) -> None:
    joined = "".join(split_identifier(name))
    assert joined == "".join(char for char in name if char not in "_-" and not char.isspace())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create-issue, create_issue!", ["create-issue", "create_issue"]),
        ("(a) - b", ["a", "b"]),
        ("Ärger im Büro", ["Ärger", "im", "Büro"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("ที่ อยู่", ["ที่", "อยู่"]),
        ("e\u0301te\u0301 fini", ["e\u0301te\u0301", "fini"]),
        ("... !?", []),
    ],
)
def test_runs_are_identifiers_and_whole_words_of_any_script(text: str, expected: list[str]) -> None:
    assert runs(text) == expected


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("createIssue", "create issue"),
        ("github.create_issue", "github create issue"),
        ("parseHTTPResponse", "parse http response"),
        ("!!!", ""),
    ],
)
def test_words_say_a_name_in_lower_case_split_before_lowering(name: str, said: str) -> None:
    assert words(name) == said


SPELLINGS = ["createIssue", "CreateIssue", "create_issue", "create-issue", "Create issue", "CREATE.ISSUE", "create/issue"]  # fmt: skip


def test_all_spellings_of_a_name_squash_to_one() -> None:
    assert {squash(name) for name in SPELLINGS} == {"createissue"}


def test_squash_takes_full_width_and_composed_letters_for_what_they_are() -> None:
    assert squash("ｃｒｅａｔｅ") == "create"
    assert squash("cafe\u0301") == squash("caf\u00e9")


def test_squash_keeps_vowels_that_are_marks() -> None:
    assert squash("की") != squash("का")
    assert squash("กิน") != squash("กน")


@pytest.mark.parametrize("name", ["github__create_issue", "github.create_issue", "a/b/create_issue", "x:create_issue", "create_issue", "x\\create_issue"])  # fmt: skip
def test_the_last_segment_is_what_stands_behind_the_server(name: str) -> None:
    assert last_segment(name) == "create_issue"
