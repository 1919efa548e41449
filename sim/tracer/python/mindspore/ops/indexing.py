"""x[...] of tensors: slices and integers become StridedSlice, an index tensor Gather, several of them GatherNd."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.rank import RankInt
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops.primitive import operator


def number(value):
    return int(value) if type(value) is RankInt else values.plain_int(value)


class _Plan:
    """Lists and masks of one StridedSlice; bit i belongs to position i."""

    def __init__(self):
        self.begin, self.end, self.strides = [], [], []
        self.new_axis = self.shrink = 0

    def add(self, begin, end, stride):
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)

    def bit(self):
        return 1 << len(self.begin)


def _expand_ellipsis(index, rank):
    """Index items with the ellipsis written out as full slices."""
    items = list(index)
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > rank:
        raise user_error(IndexError, "Tensor:index", "%d indices for a tensor of %d dimensions" % (used, rank))
    if any(item is Ellipsis for item in items):
        position = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[position:position + 1] = [slice(None)] * (rank - used)
    return items


def _add_slice(plan, item, extent):
    begin, end, stride = slice(*[None if v is None else number(v) for v in
                                 (item.start, item.stop, item.step)]).indices(extent)
    if stride < 0:
        raise Unsupported("Tensor.negative-step", "slices with a negative step are not supported")
    plan.add(begin, max(begin, end), stride)


def _add_item(plan, item, dim, shape):
    """Adds one index item; True if it consumes a dimension."""
    if item is None:
        plan.new_axis |= plan.bit()
        plan.add(0, 1, 1)
        return False
    if isinstance(item, slice):
        _add_slice(plan, item, shape[dim])
        return True
    if isinstance(item, bool) or not hasattr(type(item), "__index__") or isinstance(item, Tensor):
        raise Unsupported("Tensor.index", "indexing a tensor with %s is not supported" % type(item).__name__,
                          "use slices, whole numbers, or ops.gather")
    position = number(item)
    if not -shape[dim] <= position < shape[dim]:
        raise user_error(IndexError, "Tensor:index", "index %d is out of range for dimension %d of extent %d"
                         % (position, dim, shape[dim]))
    position %= shape[dim]
    plan.shrink |= plan.bit()
    plan.add(position, position + 1, 1)
    return True


def _as_written(tensor, items):
    """The slice with the numbers that the script has: open ends are masks, what is not indexed is not listed."""
    plan, whole_begin, whole_end, dim = _Plan(), 0, 0, 0
    left = tensor.ndim - sum(item is not Ellipsis for item in items)
    for item in items:
        if item is Ellipsis:
            for extent in tensor.shape[dim:dim + left]:
                whole_begin |= plan.bit()
                whole_end |= plan.bit()
                plan.add(0, extent, 1)
            dim += left
            continue
        if isinstance(item, slice):
            begin, end, stride = (None if v is None else number(v) for v in (item.start, item.stop, item.step))
            whole_begin |= plan.bit() if begin is None else 0
            whole_end |= plan.bit() if end is None else 0
            _check_slice(item, tensor.shape[dim])
            plan.add(begin or 0, end or 0, 1 if stride is None else stride)
        else:
            _add_item(plan, item, dim, tensor.shape)
        dim += 1
    return operator("StridedSlice", begin_mask=whole_begin, end_mask=whole_end, ellipsis_mask=0, new_axis_mask=0,
                    shrink_axis_mask=plan.shrink)(tensor, tuple(plan.begin), tuple(plan.end), tuple(plan.strides))


def _check_slice(item, extent):
    """@raise Unsupported for negative steps"""
    _add_slice(_Plan(), item, extent)


def _is_positions(item):
    return isinstance(item, list) or isinstance(item, Tensor) and item.dtype.kind in ("int", "uint") and item.ndim > 0


def _by_positions(tensor, items):
    """x[0, rows, columns]: the elements at the positions that tensors list, as numpy has it.

    Tensors and numbers are broadcast together; their dimensions stand where the first of them stood, in front where something
    lies between them. What is sliced is sliced before, the listed dimensions come first, and one GatherNd takes the elements.
    """
    from mindspore.ops import _shapes, functional as F
    if any(item is None for item in items):
        raise Unsupported("Tensor.index", "indexing a tensor with None and tensors together is not supported", "use ops.expand_dims")
    listed = [i for i, item in enumerate(items) if not isinstance(item, slice)]
    sliced = tuple(item if isinstance(item, slice) else slice(None) for item in items)
    source = tensor if all(item == slice(None) for item in sliced) else getitem(tensor, sliced)
    positions = [item if isinstance(item, Tensor) else Tensor(item if isinstance(item, list) else number(item), mstype.int64)
                 for item in (items[i] for i in listed)]
    shape = _shapes.broadcast("index", [item.shape for item in positions])
    kind = mstype.int64 if any(item.dtype is mstype.int64 for item in positions) else mstype.int32
    positions = [item if item.dtype is kind else F.cast(item, kind) for item in positions]
    spread = [item if item.shape == shape else F.broadcast_to(item, shape) for item in positions]
    rest = [i for i in range(len(items)) if i not in listed]
    if listed != list(range(len(listed))):
        source = F.transpose(source, tuple(listed + rest))
    found = operator("GatherNd")(source, F.stack(spread, -1))
    first, together = listed[0], listed[-1] - listed[0] == len(listed) - 1
    if not together or first == 0:
        return found
    count = len(shape)
    return F.transpose(found, tuple(range(count, count + first)) + tuple(range(count)) + tuple(range(count + first, found.ndim)))


def getitem(tensor, index):
    if isinstance(index, Tensor):
        if index.dtype.kind in ("int", "uint"):
            return operator("Gather")(tensor, index, 0)
        raise Unsupported("Tensor.mask-index", "indexing with a mask gives a shape that depends on values")
    if isinstance(index, list):
        return operator("Gather")(tensor, Tensor(index), 0)
    items = _expand_ellipsis(index if isinstance(index, tuple) else (index,), tensor.ndim)
    if any(_is_positions(item) for item in items):
        return _by_positions(tensor, items + [slice(None)] * (tensor.ndim - sum(item is not None for item in items)))
    if index is Ellipsis or index == (Ellipsis,):
        return tensor  # any other full slice stays an operator, with a strategy of its own
    plan, dim = _Plan(), 0
    if all(item is not None for item in items):
        return _as_written(tensor, index if isinstance(index, tuple) else (index,))
    for item in items:
        dim += _add_item(plan, item, dim, tensor.shape)
    for extent in tensor.shape[dim:]:
        plan.add(0, extent, 1)
    primitive = operator("StridedSlice", begin_mask=0, end_mask=0, ellipsis_mask=0,
                         new_axis_mask=plan.new_axis, shrink_axis_mask=plan.shrink)
    return primitive(tensor, tuple(plan.begin), tuple(plan.end), tuple(plan.strides))
