"""x[...] = value as a graph has it: a new tensor, in which the places that the index names hold the value.

What names the places is a constant wherever the index is: a list of coordinates, worked out here. Whole numbers, slices and
positions write by TensorScatterUpdate, a mask by Select. Source: mindspore/ops/composite/multitype_ops (_compile_utils.py,
setitem_impl.py) and frontend/operator/composite/tensor_index.cc (behaviour only).
"""
import itertools

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.ops import _shapes
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import cast, operator


def assigned(tensor, index, value):
    """The tensor behind the assignment; the same one if the index names no place."""
    index = _plain(index)
    if isinstance(index, list):
        index = _of_list(index)
    if index is True or index is None or index is Ellipsis:
        return _everywhere(tensor, _as_value(value, tensor.dtype))
    if index is False:
        return tensor
    value = _as_value(value, tensor.dtype)
    if isinstance(index, tuple):
        return _by_tuple(tensor, index, value)
    if not tensor.shape:
        raise user_error(IndexError, "Tensor:index", "a tensor without dimensions has no parts")
    if isinstance(index, Tensor):
        return _by_mask(tensor, index, value) if _is_mask(index) else _by_rows(tensor, index, value)
    if isinstance(index, slice):
        rows = _of_slice(index, tensor.shape[0])
    else:
        rows = range(_in_range(_number(index), 0, tensor.shape[0]), tensor.shape[0])[:1]
    if not rows:
        return tensor
    updates = _spread(value, (len(rows),) + tensor.shape[1:])
    return _written(tensor, _constant_of([(row,) for row in rows], (len(rows), 1)), updates, isinstance(index, slice))


def is_view(index):
    """True for an index whose part of a tensor lies in its memory: numbers, slices, None and ..."""
    items = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(item, (Tensor, list, tuple, bool)) or hasattr(item, "dtype") for item in items)


# -- what is given ----------------------------------------------------------------------------------
def _plain(item):
    """An index item without the types of other libraries."""
    if isinstance(item, (Tensor, slice, tuple, list, bool)) or item is None or item is Ellipsis:
        return item
    if hasattr(item, "dtype") and hasattr(item, "shape"):
        return Tensor(item) if item.shape else _plain(item.item())
    return item


def _number(item):
    from mindspore.ops import indexing
    if not hasattr(type(item), "__index__"):
        raise user_error(IndexError, "Tensor:index", "a tensor has no part [%s]" % type(item).__name__,
                         "give whole numbers, slices, lists, tensors, None or ...")
    return indexing.number(item)


def _in_range(position, dim, extent):
    if not -extent <= position < extent:
        raise user_error(IndexError, "Tensor:index", "index %d is out of range for dimension %d of extent %d" % (position, dim, extent))
    return position % extent


def _of_slice(item, extent):
    bounds = [None if bound is None else _number(bound) for bound in (item.start, item.stop, item.step)]
    if bounds[2] == 0:
        raise user_error(ValueError, "Tensor:index", "the step of a slice cannot be 0")
    return range(*slice(*bounds).indices(extent))


def _of_list(index):
    """A list as an index: of truth values a mask, of whole numbers positions, of anything else as a tuple."""
    if not index:
        raise user_error(IndexError, "Tensor:index", "an empty list names no part of a tensor")
    if all(isinstance(item, bool) for item in index):
        return Tensor(index, mstype.bool_)
    if all(type(item) is int or isinstance(item, bool) for item in index):
        return Tensor([int(item) for item in index], mstype.int64)
    return tuple(index)


def _is_mask(item):
    if item.dtype.kind not in ("bool", "int", "uint"):
        raise user_error(IndexError, "Tensor:index", "a tensor that names parts of another holds whole numbers or truth values, not %s"
                         % item.dtype)
    return item.dtype.kind == "bool"


def _as_value(value, dtype):
    """What is assigned as a tensor of the element type."""
    if isinstance(value, (tuple, list)) and any(isinstance(item, Tensor) for item in value):
        parts = [item if isinstance(item, Tensor) else Tensor(item, dtype) for item in value]
        value = operator("Stack", axis=0)(tuple(parts))
    if isinstance(value, Tensor):
        if value.dtype is dtype:
            return value
        return _filled(values.flat(value._source, dtype), Tensor(shape=value.shape, dtype=dtype)) if _worked_out(value) else \
            cast(value, dtype)
    if not isinstance(value, (bool, int, float, tuple, list)) and not hasattr(value, "dtype"):
        raise user_error(TypeError, "Tensor:assigned-type", "a %s cannot be assigned to a part of a tensor" % type(value).__name__,
                         "assign a tensor, a number or a list of numbers")
    return Tensor(value, dtype)


# -- constants --------------------------------------------------------------------------------------
def _constant_of(rows, shape):
    """The int64 constant of coordinates, row major; without its values where it is large."""
    made = Tensor(shape=shape, dtype=mstype.int64)
    if values.count(shape) <= values.MAX_KEPT_ELEMENTS:
        made._source = values.nest([number for row in rows for number in row], shape)
    return made


def _is_known(tensor):
    return not isinstance(tensor, Parameter) and tensor._known()


def _worked_out(*tensors):
    """True outside of networks for tensors whose elements are known: so is what follows from them."""
    return session.depth == 0 and all(_is_known(tensor) for tensor in tensors)


def _filled(items, like):
    made = Tensor(shape=like.shape, dtype=like.dtype)
    made._source = values.nest(items, like.shape)
    return made


def _spread(value, shape):
    """The value over a shape; a known number is a constant."""
    if len(value.shape) > len(shape) or any(own not in (1, extent) for own, extent in zip(reversed(value.shape), reversed(shape))):
        raise user_error(ValueError, "Tensor:assigned-shape", "a value of shape %s does not fit a part of shape %s"
                         % (value.shape, tuple(shape)))
    if value.shape == () and _is_known(value):
        return constant(shape, value, value.dtype)
    if _is_known(value) and values.count(shape) <= values.MAX_KEPT_ELEMENTS:
        return _filled(_over(_elements(value), value.shape, shape), Tensor(shape=shape, dtype=value.dtype))
    return operator("BroadcastTo", shape=tuple(shape))(value)  # also to its own shape, which the reference does not drop


def _elements(tensor):
    return values.flat(tensor._source, tensor.dtype)


def _reshaped(tensor, shape):
    if tensor.shape == tuple(shape):
        return tensor
    if _worked_out(tensor):
        return _filled(_elements(tensor), Tensor(shape=shape, dtype=tensor.dtype))
    return operator("Reshape")(tensor, tuple(shape))


def _counted_from_front(index, extent):
    """Positions without those that count from the end."""
    if not _is_known(index):
        return operator("Select")(index < 0, index + extent, index)
    folded = _folded_positions(index, extent)
    if session.depth == 0 or not index.shape:
        return folded
    below = Tensor(values.nest([position < 0 for position in _elements(index)], index.shape), mstype.bool_)
    return operator("Select")(below, operator("Add")(index, Tensor(extent, index.dtype)), index)


def _folded_positions(index, extent):
    return _filled([_in_range(position, 0, extent) for position in _elements(index)], index)


# -- the forms of an index --------------------------------------------------------------------------
def _everywhere(tensor, value):
    if len(value.shape) > len(tensor.shape):
        value = _reshaped(value, tensor.shape)
    return _spread(value, tensor.shape)


def _written(tensor, places, updates, copies=False):
    """The tensor with rows of updates at places; a parameter is written where it lies, but by slices."""
    if isinstance(tensor, Parameter) and not copies:
        operator("ScatterNdUpdate")(tensor, places, updates)
        return tensor
    if _worked_out(tensor, places, updates):
        return _filled(_with_rows(_elements(tensor), tensor.shape, places, _elements(updates)), tensor)
    return operator("TensorScatterUpdate")(tensor, places, updates)


def _with_rows(flat, shape, places, updates):
    """Elements of a tensor, row major, with rows of updates at places."""
    count = places.shape[-1]
    row, found = values.count(shape[count:]), _elements(places)
    for n in range(len(found) // count):
        begin = 0
        for position, extent in zip(found[n * count:(n + 1) * count], shape):
            begin = begin * extent + position
        flat[begin * row:(begin + 1) * row] = updates[n * row:(n + 1) * row]
    return flat


def _by_rows(tensor, index, value):
    """x[positions] = value: the rows that a tensor of whole numbers lists."""
    if index.ndim == 0:
        index = operator("ExpandDims")(index, -1) if not _is_known(index) else Tensor([index.item()], index.dtype)
    updates = _spread(value, index.shape + tensor.shape[1:])
    index = _counted_from_front(index, tensor.shape[0])
    places = _reshaped(index, index.shape + (1,)) if _is_known(index) else operator("ExpandDims")(index, -1)
    return _written(tensor, places, updates)


def _by_mask(tensor, mask, value):
    """x[mask] = value: the mask says which elements, its dimensions being the first of the tensor."""
    def padded(part):
        if part.ndim > tensor.ndim:
            raise user_error(ValueError, "Tensor:assigned-shape", "a tensor of shape %s does not fit one of shape %s"
                             % (part.shape, tensor.shape))
        return _reshaped(part, part.shape + (1,) * (tensor.ndim - part.ndim))

    mask = _spread(padded(mask), tensor.shape)
    value = value if value.ndim == 0 and _is_known(value) else padded(value)
    value = _spread(value, tensor.shape)
    if _worked_out(tensor, mask, value):
        return _filled([new if chosen else old for chosen, new, old in zip(*map(_elements, (mask, value, tensor)))], tensor)
    return operator("Select")(mask, value, tensor)


class _Parts:
    """What a tuple says of each dimension: a range of a slice, or a tensor of positions."""

    def __init__(self, shape):
        self.shape = shape
        self.items = []         # one for each dimension that is named
        self.kept = []          # for each dimension of the result but those of positions: False for one that None adds
        self.position = None    # where among these the dimensions of positions stand
        self.last = None        # item of the tuple that held positions last

    def add(self, n, item):
        dim = len(self.items)
        if item is None:
            self.kept.append(False)
        elif isinstance(item, slice):
            self.items.append(_of_slice(item, self.shape[dim]))
            self.kept.append(True)
        else:
            self.position = len(self.kept) if self.position is None else self.position if n - self.last == 1 else 0
            self.last = n
            self.items += self._positions(item, dim)

    def _positions(self, item, dim):
        extent = self.shape[dim]
        if isinstance(item, (tuple, list)):
            item = _of_list(list(item))
            if isinstance(item, Tensor) and not _is_mask(item):
                return [_folded_positions(item, extent)]
        if isinstance(item, bool):
            raise Unsupported("Tensor.index", "assigning to a part with a truth value among its indices is not supported",
                              "use None, or a mask alone")
        if not isinstance(item, Tensor):
            return [Tensor(_in_range(_number(item), dim, extent), mstype.int64)]
        if not _is_mask(item):
            return [_counted_from_front(cast(item, mstype.int64) if item.dtype is not mstype.int64 else item, extent)]
        if not _is_known(item):
            raise Unsupported("Tensor.mask-index", "a mask beside other indices names as many places as its values say",
                              "assign by a mask of the whole tensor, or by ops.where")
        flat = _elements(item)
        held = [row for row, chosen in zip(itertools.product(*map(range, item.shape)), flat) if chosen]
        return [Tensor([row[d] for row in held], mstype.int64) if held else Tensor(shape=(0,), dtype=mstype.int64)
                for d in range(item.ndim)]


def _consumed(item):
    return item.ndim if isinstance(item, Tensor) and item.dtype.kind == "bool" else int(item is not None and item is not Ellipsis)


def _parts_of(index, shape):
    items = [_plain(item) for item in index]
    used = sum(map(_consumed, items))
    if used > len(shape):
        raise user_error(IndexError, "Tensor:index", "%d indices for a tensor of %d dimensions" % (used, len(shape)))
    gaps = [n for n, item in enumerate(items) if item is Ellipsis]
    if len(gaps) > 1:
        raise user_error(IndexError, "Tensor:index", "an index holds more than one '...'")
    for n in gaps:
        items[n:n + 1] = [slice(None)] * (len(shape) - used)
    parts = _Parts(shape)
    for n, item in enumerate(items):
        parts.add(n, item)
    return parts


def _by_tuple(tensor, index, value):
    parts = _parts_of(index, tensor.shape)
    if any(not isinstance(item, Tensor) and not item or isinstance(item, Tensor) and 0 in item.shape for item in parts.items):
        return tensor
    listed = [item for item in parts.items if isinstance(item, Tensor)]
    together = _shapes.broadcast("Tensor:index", [item.shape for item in listed]) if listed else ()
    value = _without_added(parts, together, len(tensor.shape), value)
    if not parts.items:
        return _everywhere(tensor, value)
    if len(listed) == len(parts.items) and len(together) < 2:
        together = (1,) + together
    places = _places(parts, together)
    return _written(tensor, places, _spread(value, places.shape[:-1] + tensor.shape[len(parts.items):]))


def _without_added(parts, together, rank, value):
    """The value without the dimensions that None adds."""
    kept = list(parts.kept)
    if parts.position is not None:
        kept[parts.position:parts.position] = [True] * len(together)
    kept += [True] * (rank - len(parts.items))
    if len(kept) < value.ndim:
        raise user_error(ValueError, "Tensor:assigned-shape", "a value of shape %s does not fit a part of %d dimensions"
                         % (value.shape, len(kept)))
    return _reshaped(value, [extent for extent, stays in zip(value.shape, kept[len(kept) - value.ndim:]) if stays])


def _places(parts, together):
    """Coordinates of all places, the last dimension: inside of a network a kernel puts the columns together, constants too."""
    before = sum(parts.kept[:parts.position]) if parts.position is not None else 0
    slices = [item for item in parts.items if not isinstance(item, Tensor)]
    shape = tuple(map(len, slices[:before])) + together + tuple(map(len, slices[before:]))
    held, columns = 0, []
    for item in parts.items:
        if isinstance(item, Tensor):
            columns.append(_Column(item, (1,) * before + together + (1,) * (len(slices) - before), together))
        else:
            dim = held if held < before else held + len(together)
            columns.append(_Column(Tensor(list(item), mstype.int64),
                                   tuple(len(item) if d == dim else 1 for d in range(len(shape)))))
            held += 1
    if _worked_out(*(column.source for column in columns)):
        large = values.count(shape) * len(columns) > values.MAX_KEPT_ELEMENTS
        return _constant_of([] if large else zip(*(column.numbers(shape) for column in columns)), shape + (len(columns),))
    spread = tuple(column.spread(shape) for column in columns)
    return operator("Concat", axis=-1)(spread)


class _Column:
    """One coordinate of all places: positions, the shape in which they lie among the other coordinates."""

    def __init__(self, source, shape, together=None):
        self.source, self.shape, self.together = source, shape, together

    def numbers(self, shape):
        """Row major over a shape."""
        flat = _elements(self.source)
        if self.together:
            flat = _over(flat, self.source.shape, self.together)
        return _over(flat, self.shape, shape)

    def spread(self, shape):
        if _is_known(self.source):
            large = values.count(shape) > values.MAX_KEPT_ELEMENTS
            found = _constant_of([] if large else [(number,) for number in self.numbers(shape)], shape)
        else:
            found = _spread(self.source, self.together) if self.together else self.source
            found = _spread(_reshaped(found, self.shape), shape)
        return operator("ExpandDims")(found, -1)


def _over(flat, shape, target):
    """Elements of a shape, row major, broadcast to another."""
    shape = (1,) * (len(target) - len(shape)) + tuple(shape)
    steps, step = [], 1
    for extent in reversed(shape):
        steps.insert(0, 0 if extent == 1 else step)
        step *= extent
    return [flat[sum(p * s for p, s in zip(position, steps))] for position in itertools.product(*map(range, target))]
