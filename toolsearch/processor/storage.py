"""Where loaded sets live: in this process, in the messages, or in a store of the caller's."""

from toolsearch.errors import OptionError
from toolsearch.processor.options import Settings
from toolsearch.state import InMemoryStore, LoadedToolStore

IN_MEMORY, CONTEXT = "in-memory", "context"


def make_store(settings: Settings) -> LoadedToolStore | None:
    """The store these settings ask for; None where the messages themselves are the store.

    Raises:
        OptionError: `storage` is neither a known name nor an object with `get` and `add`; or it lacks the `remove` that
            `unload` needs.
    """
    storage = settings.storage
    if storage == IN_MEMORY:
        return InMemoryStore(ttl=settings.ttl, max_threads=settings.max_threads)
    if storage == CONTEXT:
        return None
    if callable(getattr(storage, "get", None)) and callable(getattr(storage, "add", None)):
        if settings.unload and not callable(getattr(storage, "remove", None)):
            raise OptionError("unload", "needs a store with remove(key, names).")
        store: LoadedToolStore = storage
        return store
    raise OptionError("storage", f"is 'in-memory', 'context' or an object with get and add, not {storage!r}.")
