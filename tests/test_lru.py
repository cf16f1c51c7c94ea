"""A bounded memory of the most recently used values."""

from concurrent.futures import ThreadPoolExecutor

from toolsearch.lru import LRU


def test_what_was_put_is_there_and_what_was_not_is_none() -> None:
    memory: LRU[str, int] = LRU(2)
    memory.put("a", 1)
    assert (memory.get("a"), memory.get("b"), len(memory)) == (1, None, 1)


def test_the_entry_unused_for_longest_goes_first() -> None:
    memory: LRU[str, int] = LRU(2)
    memory.put("a", 1)
    memory.put("b", 2)
    memory.get("a")
    memory.put("c", 3)
    assert [memory.get(key) for key in "abc"] == [1, None, 3]


def test_putting_again_replaces_the_value_and_counts_as_use() -> None:
    memory: LRU[str, int] = LRU(2)
    for key, value in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        memory.put(key, value)
    assert [memory.get(key) for key in "abc"] == [3, None, 4]


def test_unwanted_entries_are_dropped() -> None:
    memory: LRU[str, int] = LRU(9)
    for value, key in enumerate("abc"):
        memory.put(key, value)
    memory.drop(lambda key: key != "b")
    assert ([memory.get(key) for key in "abc"], len(memory)) == ([None, 1, None], 1)


def test_many_threads_never_make_it_larger_than_its_size() -> None:
    memory: LRU[int, int] = LRU(50)

    def work(start: int) -> int:
        for value in range(start, start + 500):
            memory.put(value, value)
            assert memory.get(value - 7) in {None, value - 7}
            if value % 100 == 0:
                memory.drop(lambda key: key % 2 == 0)
        return len(memory)

    with ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(0, 4_000, 250))) <= 50
