"""x[...] of tensors: slices and integers become StridedSlice, index tensors Gather."""
from mindspore._drydock import values
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.rank import RankInt
from mindspore.common.tensor import Tensor
from mindspore.ops.primitive import operator


def _number(value):
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
    begin, end, stride = slice(*[None if v is None else _number(v) for v in
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
    position = _number(item)
    if not -shape[dim] <= position < shape[dim]:
        raise user_error(IndexError, "Tensor:index", "index %d is out of range for dimension %d of extent %d"
                         % (position, dim, shape[dim]))
    position %= shape[dim]
    plan.shrink |= plan.bit()
    plan.add(position, position + 1, 1)
    return True


def getitem(tensor, index):
    if isinstance(index, Tensor):
        if index.dtype.kind in ("int", "uint"):
            return operator("Gather")(tensor, index, 0)
        raise Unsupported("Tensor.mask-index", "indexing with a mask gives a shape that depends on values")
    if isinstance(index, list):
        return operator("Gather")(tensor, Tensor(index), 0)
    items = _expand_ellipsis(index if isinstance(index, tuple) else (index,), tensor.ndim)
    if index is Ellipsis or index == (Ellipsis,):
        return tensor  # any other full slice stays an operator, with a strategy of its own
    plan, dim = _Plan(), 0
    for item in items:
        dim += _add_item(plan, item, dim, tensor.shape)
    for extent in tensor.shape[dim:]:
        plan.add(0, extent, 1)
    primitive = operator("StridedSlice", begin_mask=0, end_mask=0, ellipsis_mask=0,
                         new_axis_mask=plan.new_axis, shrink_axis_mask=plan.shrink)
    return primitive(tensor, tuple(plan.begin), tuple(plan.end), tuple(plan.strides))


def setitem(tensor, index, value):
    raise Unsupported("Tensor.__setitem__", "assigning to a part of a tensor is not supported",
                      "build the tensor with ops.concat or ops.where")
