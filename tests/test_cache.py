"""An encoder that remembers: invisible when all is well, and no trouble when it is not."""

import logging
import os
import pickle
import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEncoder

from toolsearch.cache import CachedEncoder, CacheStats, default_folder
from toolsearch.embedding.encoder import Role, Vectors
from toolsearch.errors import VectorError
from toolsearch.shelf import Shelf, ShelfError

TEXTS = ["open a ticket", "create an issue", "tomorrow's weather", "", "open a ticket", "天气 🌦", "a\0b", "\ud800"]


def embeds_again(folder: Path, texts: Sequence[str] = TEXTS, role: Role = "document") -> int:
    """How many texts a new process-like start, with nothing in memory, has to embed."""
    with CachedEncoder(WordEncoder(), folder=folder) as cached:
        rows = cached.encode(texts, role)
        assert np.array_equal(rows, WordEncoder().encode(texts, role))
        return cached.stats().misses


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "cache.db")) as connection, connection:
        yield connection


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_cached_and_bare_encoders_agree_bit_for_bit_and_the_bare_one_sees_each_text_once(tmp_path: Path) -> None:
    bare, watched = WordEncoder(), WordEncoder()
    for _ in range(3):
        with CachedEncoder(watched, folder=tmp_path) as cached:
            for texts in (TEXTS, TEXTS[:3], ["new", *TEXTS], []):
                rows = cached.encode(texts, "document")
                assert np.array_equal(rows, bare.encode(texts, "document"))
                assert (rows.dtype.name, rows.flags.c_contiguous, rows.shape) == (
                    "float32",
                    True,
                    (len(texts), bare.dim),
                )
    assert sorted(watched.seen) == sorted(("document", text) for text in {*TEXTS, "new"})


def test_the_wrapper_is_invisible(tmp_path: Path) -> None:
    bare = WordEncoder(dim=32, max_tokens=7, fingerprint="print")
    cached = CachedEncoder(bare, folder=tmp_path)
    assert (cached.fingerprint, cached.dim, cached.max_tokens) == ("print", 32, 7)
    assert cached.count_tokens("three small words") == 3


def test_making_one_touches_no_disk(tmp_path: Path) -> None:
    CachedEncoder(WordEncoder(), folder=tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_roles_are_kept_apart(tmp_path: Path) -> None:
    encoder = WordEncoder()
    with CachedEncoder(encoder, folder=tmp_path) as cached:
        cached.encode(["a"], "document")
        cached.encode(["a"], "query")
    assert encoder.seen == [("document", "a"), ("query", "a")]


@pytest.mark.parametrize("other", ["other", "", "model5:queryx", "model5:quer"])
def test_models_of_equal_width_are_kept_apart(tmp_path: Path, other: str) -> None:
    first, second = WordEncoder(fingerprint="model"), WordEncoder()
    second.fingerprint = other
    for encoder in (first, second):
        with CachedEncoder(encoder, folder=tmp_path) as cached:
            cached.encode(["a", "ya", "xya", ":querya"], "query")
    assert (first.texts_seen, second.texts_seen) == (4, 4)


def test_a_row_that_is_gone_is_embedded_again(tmp_path: Path) -> None:
    embeds_again(tmp_path)
    with database(tmp_path) as connection:
        connection.execute("DELETE FROM Cache WHERE rowid = 2")
    assert [embeds_again(tmp_path), embeds_again(tmp_path)] == [1, 0]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"x" * 1023,
        np.full(256, np.nan, "<f4").tobytes(),
        np.zeros(256, "<f4").tobytes(),
        np.ones(256, "<f4").tobytes(),
        np.full(128, 128**-0.5, "<f4").tobytes(),
        "text",
        7,
        None,
    ],
)
def test_a_value_that_is_no_unit_vector_of_this_width_is_a_miss_and_is_overwritten(
    tmp_path: Path, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    embeds_again(tmp_path)
    with database(tmp_path) as connection:
        connection.execute("UPDATE Cache SET value = ? WHERE rowid = 1", (value,))
    assert [embeds_again(tmp_path), embeds_again(tmp_path)] == [1, 0]
    assert warnings_of(caplog) == []


class Bomb:
    """Unpickling one creates a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
@pytest.mark.parametrize("where", ["value", "file"])
def test_a_planted_pickle_is_never_run(tmp_path: Path, mode: int, where: str) -> None:
    folder, marker = tmp_path / "cache", tmp_path / "marker"
    embeds_again(folder)
    payload = pickle.dumps(Bomb(marker))
    (folder / "planted.val").write_bytes(payload)
    with database(folder) as connection:
        change = (mode, payload, None) if where == "value" else (mode, None, "planted.val")
        connection.execute("UPDATE Cache SET mode = ?, value = ?, filename = ?", change)
    assert [embeds_again(folder), embeds_again(folder)] == [len(set(TEXTS)), 0]
    assert not marker.exists()
    assert (folder / "planted.val").read_bytes() == payload  # nor does an entry make us delete what it names


def test_a_planted_pickle_as_a_key_is_never_run(tmp_path: Path) -> None:
    folder, marker = tmp_path / "cache", tmp_path / "marker"
    embeds_again(folder)
    with database(folder) as connection:
        connection.execute("UPDATE Cache SET key = ?, raw = 0 WHERE rowid = 1", (pickle.dumps(Bomb(marker)),))
    assert embeds_again(folder) == 1
    shelf = Shelf(folder, size_limit=1)
    assert shelf.put_many({"k": b"v"}) > 0
    assert not marker.exists()


@pytest.mark.parametrize(
    ("key", "value"), [("k", ["not bytes"]), ("k", "text"), ("k", 3), (("k",), b"v"), (b"k", b"v")]
)
def test_nothing_that_would_need_a_pickle_or_a_type_of_its_own_can_be_stored(
    tmp_path: Path, key: str, value: bytes
) -> None:
    shelf = Shelf(tmp_path, size_limit=2**20)
    with pytest.raises(ShelfError, match="TypeError"):
        shelf.put_many({key: value})
    shelf.close()


def test_large_values_stay_inside_the_database(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, size_limit=2**24)
    shelf.put_many({"k": bytes(100_000)})
    assert shelf.get_many(["k", "absent"]) == {"k": bytes(100_000)}
    shelf.close()
    assert [path.name for path in tmp_path.iterdir()] == ["cache.db"]


def assert_works_with_one_warning(
    folder: Path, caplog: pytest.LogCaptureFixture, *needles: str, texts: Sequence[str] = TEXTS
) -> None:
    encoder = WordEncoder()
    with CachedEncoder(encoder, folder=folder) as cached:
        for _ in range(3):
            for role in ("document", "query"):
                assert np.array_equal(cached.encode(texts, role), WordEncoder().encode(texts, role))
    assert encoder.texts_seen == 2 * len(set(texts))
    (message,) = warnings_of(caplog)
    for needle in (str(folder), *needles):
        assert needle in message


def test_a_file_where_the_folder_should_be_costs_the_cache_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("mine")
    assert_works_with_one_warning(tmp_path / "file" / "vectors", caplog, "TOOLSEARCH_CACHE_DIR")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_may_not_be_made_costs_the_cache_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The one simulated fault here: tests may run as root, whom no mode stops.
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    assert_works_with_one_warning(tmp_path / "vectors", caplog, "Permission denied", "TOOLSEARCH_CACHE_DIR")


@pytest.mark.parametrize("damage", ["not a database", "half of it", "a page in the middle", "another program's"])
def test_a_damaged_database_costs_the_cache_and_one_warning_and_is_not_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    embeds_again(tmp_path)
    path = tmp_path / "cache.db"
    whole = path.read_bytes()
    if damage == "another program's":
        path.unlink()
        with database(tmp_path) as connection:
            connection.execute("CREATE TABLE Cache (other)")
            connection.execute("CREATE TABLE Settings (other)")
    else:
        path.write_bytes(
            {
                "not a database": b"not a database " * 500,
                "half of it": whole[: len(whole) // 2],
                "a page in the middle": whole[:4096] + b"\xff" * 8192 + whole[12288:],
            }[damage]
        )
    damaged = path.read_bytes()
    assert_works_with_one_warning(tmp_path, caplog, "delete", str(tmp_path))
    if damage == "not a database":
        assert path.read_bytes() == damaged


def test_damage_found_while_working_costs_the_cache_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CachedEncoder(WordEncoder(), folder=tmp_path) as cached:
        cached.encode(["before"], "document")
        with database(tmp_path) as connection:
            connection.execute("DROP TABLE Cache")
        assert np.array_equal(cached.encode(TEXTS, "query"), WordEncoder().encode(TEXTS, "query"))
        cached.encode(["after"], "document")
    assert len(warnings_of(caplog)) == 1


def test_a_full_disk_costs_the_cache_and_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    embeds_again(tmp_path, ["a few"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow beyond this: what a quota or a full disk does to SQLite, without needing a disk of our own.
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        assert_works_with_one_warning(tmp_path, caplog, texts=[f"text {n}" for n in range(400)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert embeds_again(tmp_path, ["a few"]) == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", [".", "cache.db"])
def test_what_another_user_owns_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    embeds_again(tmp_path)
    os.chown(tmp_path / name, 12345, -1)
    assert_works_with_one_warning(tmp_path, caplog, "12345")


@pytest.mark.parametrize("name", [".", "cache.db"])
def test_what_every_user_may_write_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str) -> None:
    embeds_again(tmp_path)
    (tmp_path / name).chmod(0o777)
    assert_works_with_one_warning(tmp_path, caplog, "every user")


def test_a_database_that_stays_locked_costs_the_cache_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    embeds_again(tmp_path)
    monkeypatch.setattr("toolsearch.diskrows.PATIENCE", 0.05)
    with database(tmp_path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        assert_works_with_one_warning(tmp_path, caplog, "locked")
    assert embeds_again(tmp_path) == 0


def test_a_lock_taken_while_working_costs_the_cache_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolsearch.diskrows.PATIENCE", 0.05)
    with CachedEncoder(WordEncoder(), folder=tmp_path) as cached:
        cached.encode(["before"], "document")
        with database(tmp_path) as connection:
            connection.execute("BEGIN IMMEDIATE")
            cached.encode(["during"], "document")
        cached.encode(["after"], "document")
    (message,) = warnings_of(caplog)
    assert "locked" in message


def test_the_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    embeds_again(tmp_path / "a" / "vectors")
    assert (tmp_path / "a" / "vectors").stat().st_mode & 0o777 == 0o700


def test_the_default_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path))
    with CachedEncoder(WordEncoder()) as cached:
        cached.encode(["a"], "document")
    assert (cached.folder, (tmp_path / "vectors" / "cache.db").exists()) == (tmp_path / "vectors", True)
    monkeypatch.delenv("TOOLSEARCH_CACHE_DIR")
    assert default_folder().parts[-2:] == ("toolsearch", "vectors")


def test_reaching_the_limit_drops_the_oldest_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"text {n}" for n in range(600)]
    with CachedEncoder(WordEncoder(), folder=tmp_path, size_limit=300_000) as cached:
        cached.encode(texts, "document")
    (message,) = warnings_of(caplog)
    assert "300000 bytes" in message
    assert "size_limit" in message
    assert (tmp_path / "cache.db").stat().st_size <= 300_000
    assert embeds_again(tmp_path, texts[-50:]) == 0
    assert embeds_again(tmp_path, texts[:50]) == 50


def test_what_memory_has_no_room_for_is_read_from_disk(tmp_path: Path) -> None:
    encoder, texts = WordEncoder(), [f"text {n}" for n in range(300)]
    with CachedEncoder(encoder, folder=tmp_path, memory_limit=20_000) as cached:
        for _ in range(3):
            assert np.array_equal(cached.encode(texts, "document"), WordEncoder().encode(texts, "document"))
    assert encoder.texts_seen == 300


def test_changing_what_was_returned_changes_nothing_that_is_remembered(tmp_path: Path) -> None:
    with CachedEncoder(WordEncoder(), folder=tmp_path) as cached:
        for _ in range(2):
            cached.encode(["a", "b"], "document")[:] = 0
        assert np.array_equal(cached.encode(["a", "b"], "document"), WordEncoder().encode(["a", "b"], "document"))


def test_hits_and_misses_add_up_to_the_texts_asked_for(tmp_path: Path) -> None:
    cached = CachedEncoder(WordEncoder(), folder=tmp_path)
    cached.encode(["a", "b", "a"], "document")
    cached.encode(["b", "c"], "document")
    assert cached.stats() == CacheStats(hits=2, misses=3)
    cached.close()


def test_progress_is_told_of_what_is_embedded_and_of_nothing_else(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with CachedEncoder(WordEncoder(), folder=tmp_path) as cached:
        cached.encode(["seen before"], "document")
        cached.progress = lambda done, total: told.append((done, total))
        cached.encode(["seen before", *(f"text {n}" for n in range(300))], "document")
        cached.encode(["seen before"], "document")
    assert told == [(128, 300), (256, 300), (300, 300)]


class Interrupted(WordEncoder):
    """Embeds so many batches, then the user presses Ctrl-C."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.batches = batches

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        if self.calls == self.batches:
            raise KeyboardInterrupt
        return super().encode(texts, role)


def test_an_interruption_loses_only_the_texts_in_hand(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(500)]
    cached = CachedEncoder(Interrupted(2), folder=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        cached.encode(texts, "document")
    cached.close()
    assert embeds_again(tmp_path, texts) == 500 - 2 * 128


@pytest.mark.parametrize(
    "made", [np.zeros((2, 256), np.float32), np.full((2, 256), np.nan, np.float32), np.eye(256, dtype=np.float32)[:1]]
)
def test_what_is_not_one_unit_row_a_text_is_an_error_and_is_not_remembered(tmp_path: Path, made: Vectors) -> None:
    class Broken(WordEncoder):
        def encode(self, texts: Sequence[str], role: Role) -> Vectors:
            return made

    with CachedEncoder(Broken(), folder=tmp_path) as cached, pytest.raises(VectorError):
        cached.encode(["a", "b"], "document")
    assert embeds_again(tmp_path, ["a", "b"]) == 2


def test_many_threads_asking_for_the_same_texts_have_each_embedded_once(tmp_path: Path) -> None:
    encoder, texts = WordEncoder(), [f"text {n}" for n in range(200)]
    expected = WordEncoder().encode(texts, "document")
    with CachedEncoder(encoder, folder=tmp_path) as cached, ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(cached.encode, texts[n:] + texts[:n], "document") for n in range(0, 200, 5)]
        rows = [job.result(timeout=30) for job in jobs]
        stats = cached.stats()
    assert encoder.texts_seen == 200
    assert all(np.array_equal(np.roll(found, 5 * n, axis=0), expected) for n, found in enumerate(rows))
    assert stats == CacheStats(hits=40 * 200 - 200, misses=200)


def test_a_thread_that_waits_for_one_that_fails_tries_for_itself(tmp_path: Path) -> None:
    began, go_on = threading.Event(), threading.Event()

    class FailsFirst(WordEncoder):
        def encode(self, texts: Sequence[str], role: Role) -> Vectors:
            if not began.is_set():
                began.set()
                go_on.wait(10)
                raise RuntimeError("out of memory")
            return super().encode(texts, role)

    with CachedEncoder(FailsFirst(), folder=tmp_path) as cached, ThreadPoolExecutor(2) as pool:
        first = pool.submit(cached.encode, ["a"], "document")
        began.wait(10)
        second = pool.submit(cached.encode, ["a"], "document")
        go_on.set()
        with pytest.raises(RuntimeError, match="out of memory"):
            first.result(timeout=10)
        assert np.array_equal(second.result(timeout=10), WordEncoder().encode(["a"], "document"))


PROCESS = """
import hashlib, sys
from pathlib import Path
from fakes import WordEncoder
from toolsearch.cache import CachedEncoder
with CachedEncoder(WordEncoder(), folder=Path(sys.argv[1])) as cached:
    input()
    for start in range(0, 300, 10):
        rows = cached.encode([f"text {n}" for n in range(start, start + 40)], "document")
    print(hashlib.sha256(rows.tobytes()).hexdigest(), file=sys.stdout)
"""


def test_two_processes_share_a_folder_at_the_same_time(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[1])])
    command = [sys.executable, "-c", PROCESS, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": paths}
    both = [
        subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=60) for process in both]
    assert [error for _, error in answers] == ["", ""]
    assert answers[0] == answers[1]
    assert embeds_again(tmp_path, [f"text {n}" for n in range(330)]) == 0


def test_closing_twice_is_fine_and_leaves_no_file_open(tmp_path: Path) -> None:
    cached = CachedEncoder(WordEncoder(), folder=tmp_path)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: cached.encode([f"{n}"], "query"), range(30)))
    cached.close()
    cached.close()
    handles = Path("/proc/self/fd")
    if handles.exists():
        open_files = [str(handle.readlink()) for handle in handles.iterdir() if handle.is_symlink()]
        assert [name for name in open_files if name.startswith(str(tmp_path))] == []
    assert np.array_equal(cached.encode(["later"], "query"), WordEncoder().encode(["later"], "query"))
