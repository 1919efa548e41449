"""Functions whose result is as long as the values say: recorded with the largest length it can have.

A network that uses them is compiled for that example, which the summary counts; memory is what the longest result takes.
Example: ops.nonzero(x) of x (4, 8) has at most 32 rows of 2 numbers, so the result is int64 (32, 2).
"""
from mindspore._drydock.errors import user_error
from mindspore._drydock.session import session
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.ops import _unruled


def _longest(name, tensors, types, **attrs):
    session.warn_limit("the length of the result of '%s' depends on values; the longest one is taken" % name, at_line=True)
    return _unruled.record(name, tensors, types, **attrs)


def nonzero(input, *, as_tuple=False):
    """The places that are not zero: one row each, or a tensor for each dimension."""
    count = values.count(input.shape)
    if as_tuple:
        found = _longest("NonZeroExt", [input], [((count,), mstype.int64)] * max(1, input.ndim))
        return found if isinstance(found, tuple) else (found,)
    return _longest("NonZero", [input], [((count, input.ndim), mstype.int64)])


def argwhere(input):
    return nonzero(input)


def masked_select(input, mask):
    """The elements where the mask is true, in one row."""
    return _longest("MaskedSelect", [input, mask], [((values.count(_together(input.shape, mask.shape)),), input.dtype)])


def _together(first, second):
    """The shape that two tensors have together."""
    rank = max(len(first), len(second))
    one, other = ((1,) * (rank - len(shape)) + tuple(shape) for shape in (first, second))
    if any(a != b and 1 not in (a, b) for a, b in zip(one, other)):
        raise user_error(ValueError, "MaskedSelect:shape", "input %s and mask %s do not fit each other" % (first, second))
    return tuple(b if a == 1 else a for a, b in zip(one, other))


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None, **others):
    """Without the elements that equal their neighbour before; and where each went, and how many there were, if asked."""
    inverse = others.get("return_idx", return_inverse)
    rows = values.count(input.shape) if dim is None else input.shape[dim % input.ndim]
    shape = (rows,) if dim is None else input.shape
    found = _longest("UniqueConsecutive", [input], [(shape, input.dtype), (input.shape if dim is None else (rows,), mstype.int64),
                                                    ((rows,), mstype.int64)])
    wanted = [found[0]] + ([found[1]] if inverse else []) + ([found[2]] if return_counts else [])
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


NAMES = ("nonzero", "argwhere", "masked_select", "unique_consecutive")
