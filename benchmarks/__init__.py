"""How well toolsearch ranks, on labelled sets of anybody's."""
