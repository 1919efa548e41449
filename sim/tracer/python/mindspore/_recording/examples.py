"""Extents that stand for those that a script leaves open (None, Symbol): a network is compiled for one example of them.

The first example is divisible by nothing that the script does not promise, so that no cut fits by chance. A network may want
more: x of shape (None, 16) times a weight of (8, 16) has 8 rows. What the operator says that does not fit tells the extent,
and the network is recorded once more with it.
"""
import math
import re

from mindspore._drydock.session import session
from mindspore._recording import values

MAX_TRIES = 6

# Two numbers of a message that should be one, with their dimensions where they are told; for elements that are to be shared
# out, one that should be a multiple.
_DIMENSIONS = re.compile(r"dimension (\d+) of [^:;]*? is (\d+), dimension (\d+) of [^:;]*? is (\d+)")
_EQUAL = (re.compile(r"takes shape \((\d+),\) in input \d+, but it has shape \((\d+),\)"),
          re.compile(r"the input has (\d+) elements, the target (\d+)"))
_MULTIPLE = re.compile(r"the input has (\d+) elements, which (\d+) does not divide")


def shape_of(tensor):
    """The example of a tensor with open extents."""
    return session.fitted_examples.get(id(tensor)) or values.example_shape(tensor._open)


def improve(error):
    """True if the failure tells other extents, which are tried next; `error.drydock_open`: tensors with their examples."""
    text, used = str(error), getattr(error, "drydock_open", [])
    found = _DIMENSIONS.search(text)
    if found:
        at, a, other, b = map(int, found.groups())
        return (_replace(used, a, b, at) or _replace(used, b, a, other) or _replace(used, a, b) or _replace(used, b, a))
    for pattern in _EQUAL:
        found = pattern.search(text)
        if found:
            a, b = map(int, found.groups())
            return _replace(used, a, b, -1) or _replace(used, a, b) or _replace(used, b, a)
    found = _MULTIPLE.search(text)
    if found:
        have, part = map(int, found.groups())
        return part > 0 and _replace(used, have, have * part // math.gcd(have, part))
    return False


def _replace(used, have, wanted, at=None):
    """Changes the largest open extent that `have` is a multiple of, so that `wanted` comes out instead; in dimension `at` only."""
    places = [(shape[d], item) for tensor, shape in used for d, item in _open_items(tensor, at)]
    for extent in sorted({extent for extent, _ in places}, reverse=True):
        if have % extent or wanted * extent % have:
            continue
        better = wanted * extent // have
        if better in (extent, 0) or not all(item.allows(better) for old, item in places
                                            if old == extent and hasattr(item, "allows")):
            continue
        for tensor, shape in used:
            fitted = list(shape)
            for d, _ in _open_items(tensor, at):
                fitted[d] = better if shape[d] == extent else shape[d]
            session.fitted_examples[id(tensor)] = tuple(fitted)
        return True
    return False


def _open_items(tensor, at):
    """(dimension, what the script says of it) of the open extents, or of that in dimension `at`."""
    rank = len(tensor._open)
    wanted = range(rank) if at is None else [at % rank] if -rank <= at < rank else []
    return [(d, tensor._open[d]) for d in wanted if not isinstance(tensor._open[d], int) or tensor._open[d] == -1]
