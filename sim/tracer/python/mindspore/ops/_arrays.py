"""Functional forms that put elements elsewhere: views, parts of equal and unequal size, repeated dimensions, triangles, diagonals.

Source: mindspore/python/mindspore/ops/function/array_func.py (which operators, in which order).
"""
from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.ops import _unruled
from mindspore.ops.operations._python_ops import constant
from mindspore.ops.primitive import operator as op


def _f():
    from mindspore.ops import functional
    return functional


def _tensor(name, value):
    if not isinstance(value, Tensor):
        raise user_error(TypeError, name + ":operand-type", "%s() takes a Tensor, not %s" % (name, type(value).__name__))


def _widened(x, rank):
    while x.ndim < rank:
        x = op("ExpandDims")(x, 0)
    return x


def _of_each(name, inputs, widen):
    if isinstance(inputs, Tensor):
        return widen(inputs)
    for one in inputs:
        _tensor(name, one)
    return tuple(widen(one) for one in inputs)


def atleast_1d(inputs):
    return _of_each("atleast_1d", inputs, lambda x: _widened(x, 1))


def atleast_2d(inputs):
    return _of_each("atleast_2d", inputs, lambda x: _widened(x, 2))


def _box(x):
    """A line in the middle of three dimensions, a plane in front of them."""
    shapes = {0: (1, 1, 1), 1: (1,) + x.shape + (1,), 2: x.shape + (1,)}
    return _f().reshape(x, shapes[x.ndim]) if x.ndim in shapes else x


def atleast_3d(inputs):
    return _of_each("atleast_3d", inputs, _box)


def ravel(input):
    return _f().reshape(input, (-1,))


def swapdims(input, dim0, dim1):
    return _f().swapaxes(input, dim0, dim1)


def adjoint(x):
    turned = x.swapaxes(-1, -2)
    return op("Conj")(turned) if x.dtype.kind == "complex" else turned


def fliplr(input):
    return _f().flip(input, (1,))


def flipud(input):
    return _f().flip(input, (0,))


def reverse(x, axis):
    return _f().flip(x, axis)


# -- parts ------------------------------------------------------------------------------------------
def _cut(x, axis, edges):
    """Slices between the edges; one of length 0 is a constant."""
    parts, begin = [], 0
    for end in tuple(edges) + (x.shape[axis],):
        if begin == end:
            parts.append(Tensor(shape=x.shape[:axis] + (0,) + x.shape[axis + 1:], dtype=x.dtype))
        else:
            first, last = [0] * x.ndim, list(x.shape)
            first[axis], last[axis] = begin, end
            parts.append(_f().strided_slice(x, tuple(first), tuple(last), (1,) * x.ndim))
        begin = end
    return tuple(parts)


def _equal_parts(x, axis, count):
    parts = op("Split", axis=axis, output_num=count)(x)
    return parts if isinstance(parts, tuple) else (parts,)


def tensor_split(input, indices_or_sections, axis=0):
    """Parts whose lengths differ by one at most, the longer ones first; or parts between positions."""
    _tensor("tensor_split", input)
    if isinstance(axis, bool) or not isinstance(axis, int) or not -input.ndim <= axis < input.ndim:
        raise user_error(ValueError, "tensor_split:axis", "axis %r of tensor_split() is no dimension of a tensor of %d" % (axis, input.ndim))
    axis %= input.ndim
    if isinstance(indices_or_sections, (list, tuple)):
        return _cut(input, axis, indices_or_sections)
    count, extent = indices_or_sections, input.shape[axis]
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise user_error(ValueError, "tensor_split:sections", "tensor_split() makes a positive number of parts, not %r" % (count,))
    if count > extent:
        empty = Tensor(shape=input.shape[:axis] + (0,) + input.shape[axis + 1:], dtype=input.dtype)
        return _equal_parts(input, axis, extent) + (empty,) * (count - extent)
    size, longer = divmod(extent, count)
    if not longer:
        return _equal_parts(input, axis, count)
    begin, sizes = [0] * input.ndim, list(input.shape)
    sizes[axis] = longer * (size + 1)
    first = _f().slice(input, tuple(begin), tuple(sizes))
    begin[axis], sizes[axis] = sizes[axis], extent - sizes[axis]
    return _equal_parts(first, axis, longer) + _equal_parts(_f().slice(input, tuple(begin), tuple(sizes)), axis, count - longer)


def _splitter(name, axis, least):
    def function(input, indices_or_sections):
        _tensor(name, input)
        if input.ndim < least:
            raise user_error(ValueError, name + ":rank", "%s() takes tensors of %d dimensions or more, not of %d" % (name, least, input.ndim))
        return tensor_split(input, indices_or_sections, axis)

    function.__name__ = name
    return function


vsplit, hsplit, dsplit = _splitter("vsplit", 0, 1), _splitter("hsplit", 1, 2), _splitter("dsplit", 2, 3)


def row_stack(tensors):
    from mindspore.ops import _more_functional
    return _more_functional.vstack(tensors)


def block_diag(*inputs):
    """The matrices as columns of blocks, zeros above and below each."""
    F = _f()
    if not inputs:
        raise user_error(RuntimeError, "block_diag:empty", "block_diag() takes at least one tensor")
    for one in inputs:
        _tensor("block_diag", one)
        if one.ndim > 2:
            raise user_error(ValueError, "block_diag:rank", "block_diag() takes tensors of up to 2 dimensions, not of %d" % one.ndim)
    blocks = [_widened(one, 2) for one in inputs]
    columns = [F.concat([block if i == column else constant((other.shape[0], block.shape[1]), 0, other.dtype)
                         for i, other in enumerate(blocks)], 0) for column, block in enumerate(blocks)]
    return F.concat(columns, 1)


# -- diagonals and triangles ------------------------------------------------------------------------
def diagflat(input, offset=0):
    """A matrix with the elements on a diagonal; off the main one it is filled up with zeros on two sides."""
    F, more = _f(), abs(offset)
    _tensor("diagflat", input)
    if input.size == 0:
        return constant((more, more), 0, input.dtype)
    row = ravel(input)
    square = _unruled.record("Diag", [row], [(row.shape * 2, row.dtype)])
    if not offset:
        return square
    above, beside = constant((more, row.shape[0]), 0, input.dtype), constant((row.shape[0] + more, more), 0, input.dtype)
    if offset < 0:
        return F.concat((F.concat((above, square), 0), beside), 1)
    return F.concat((beside, F.concat((square, above), 0)), 1)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last dimension as diagonals of planes, which then become the dimensions `dim1` and `dim2`."""
    _tensor("diag_embed", input)
    rank = input.ndim + 1
    for name, dim in (("dim1", dim1), ("dim2", dim2)):
        if not -rank <= dim < rank:
            raise user_error(ValueError, "diag_embed:" + name, "%s of diag_embed() must be from %d to %d, not %d" % (name, -rank, rank - 1, dim))
    first, second = dim1 % rank, dim2 % rank
    if first == second:
        raise user_error(ValueError, "diag_embed:dims", "dim1 and dim2 of diag_embed() must differ")
    side = input.shape[-1] + abs(offset)
    plane = constant(input.shape[:-1] + (side, side), 0, input.dtype)
    filled = _unruled.record("MatrixSetDiagV3", [plane, input, Tensor(offset, mstype.int32)], [(plane.shape, plane.dtype)], align="LEFT_RIGHT")
    others = iter(range(rank - 2))
    return _f().transpose(filled, tuple(rank - 2 if dim == first else rank - 1 if dim == second else next(others) for dim in range(rank)))


def matrix_band_part(x, lower, upper):
    return _unruled.record("MatrixBandPart", [x], [(x.shape, x.dtype)], lower=lower, upper=upper)


def _triangle(rows, columns, keep, dtype):
    """Positions of a triangle of a matrix, row by row: they follow from the extents alone."""
    pairs = [(i, j) for i in range(rows) for j in range(columns) if keep(j - i)]
    if not pairs:
        return Tensor(shape=(2, 0), dtype=mstype.dtype_of(dtype))
    return Tensor([[pair[dim] for pair in pairs] for dim in (0, 1)], mstype.dtype_of(dtype))


def tril_indices(row, col, offset=0, *, dtype=mstype.int64):
    return _triangle(row, col, lambda above: above <= offset, dtype)


def triu_indices(row, col, offset=0, *, dtype=mstype.int64):
    return _triangle(row, col, lambda above: above >= offset, dtype)


# -- places -----------------------------------------------------------------------------------------
def aminmax(input, *, axis=0, keepdims=False):
    """The least and the largest element along one dimension, or of all."""
    if axis is None:
        both = op("ReduceMin")(input, ()), op("ReduceMax")(input, ())
        return tuple(_f().reshape(one, (1,) * input.ndim) for one in both) if keepdims is True else both
    return (op("ArgMinWithValue", axis=axis, keep_dims=keepdims)(input)[1],
            op("ArgMaxWithValue", axis=axis, keep_dims=keepdims)(input)[1])


def msort(input):
    return op("Sort", axis=0)(input)[0]


def mirror_pad(input_x, paddings, mode):
    pairs = paddings.tolist() if isinstance(paddings, Tensor) else paddings
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise user_error(ValueError, "mirror_pad:mode", "mode of mirror_pad() must be 'REFLECT' or 'SYMMETRIC', not %r" % (mode,))
    if len(pairs) != input_x.ndim:
        raise user_error(ValueError, "mirror_pad:paddings", "mirror_pad() takes a pair of widths for each of %d dimensions, not %d"
                         % (input_x.ndim, len(pairs)))
    shape = tuple(extent + sum(pair) for extent, pair in zip(input_x.shape, pairs))
    return _unruled.record("MirrorPad", [input_x], [(shape, input_x.dtype)], mode=mode)


def _blocks(name, x, block, pairs):
    """(block sizes, widths) of the last dimensions; one block size may stand for all."""
    sizes = (block,) * len(pairs) if isinstance(block, int) else tuple(block)
    if len(sizes) != len(pairs) or any(size < 1 for size in sizes) or len(sizes) + 1 > x.ndim:
        raise user_error(ValueError, name + ":block", "block %r and widths %r of %s() do not fit a tensor of shape %s"
                         % (block, pairs, name, x.shape))
    return sizes, x.ndim - len(sizes)


def space_to_batch_nd(input_x, block_size, paddings):
    """Blocks of the last dimensions, filled up first, become rows of the batch."""
    sizes, at = _blocks("space_to_batch_nd", input_x, block_size, paddings)
    padded = [extent + sum(pair) for extent, pair in zip(input_x.shape[at:], paddings)]
    if any(extent % size for extent, size in zip(padded, sizes)):
        raise user_error(ValueError, "space_to_batch_nd:block", "extents %s with their widths are no multiples of the block %s"
                         % (tuple(padded), sizes))
    rows = input_x.shape[0]
    for size in sizes:
        rows *= size
    shape = (rows,) + input_x.shape[1:at] + tuple(extent // size for extent, size in zip(padded, sizes))
    return _unruled.record("SpaceToBatchND", [input_x], [(shape, input_x.dtype)], block_shape=sizes, paddings=[list(pair) for pair in paddings])


def batch_to_space_nd(input_x, block_shape, crops):
    """Rows of the batch become blocks of the last dimensions, which are cut on their sides."""
    sizes, at = _blocks("batch_to_space_nd", input_x, block_shape, crops)
    rows = 1
    for size in sizes:
        rows *= size
    if input_x.shape[0] % rows:
        raise user_error(ValueError, "batch_to_space_nd:batch", "%d rows cannot be put into blocks of %d" % (input_x.shape[0], rows))
    extents = tuple(extent * size - sum(pair) for extent, size, pair in zip(input_x.shape[at:], sizes, crops))
    if any(extent < 0 for extent in extents):
        raise user_error(ValueError, "batch_to_space_nd:crops", "crops %r are larger than what they cut" % (crops,))
    return _unruled.record("BatchToSpaceND", [input_x], [((input_x.shape[0] // rows,) + input_x.shape[1:at] + extents, input_x.dtype)],
                           block_shape=sizes, crops=[list(pair) for pair in crops])


def reverse_sequence(x, seq_lengths, seq_dim, batch_dim=0):
    if seq_lengths.shape != (x.shape[batch_dim],):
        raise user_error(ValueError, "reverse_sequence:lengths", "reverse_sequence() takes one length for each of %d rows, not %s"
                         % (x.shape[batch_dim], seq_lengths.shape))
    return _unruled.record("ReverseSequence", [x, seq_lengths], [(x.shape, x.dtype)], seq_dim=seq_dim, batch_dim=batch_dim)


def shuffle(x, seed=None):
    return _unruled.record("RandomShuffle", [x], [(x.shape, x.dtype)])


def is_nonzero(input):
    """Whether the one element is not 0; the value of a result is not known in a dry run."""
    _tensor("is_nonzero", input)
    if input.size != 1:
        raise user_error(ValueError, "is_nonzero:size", "is_nonzero() takes a tensor of one element, not of %d" % input.size)
    return bool(_f().squeeze(input))


def max_unpool2d(x, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _unpooled(2, x, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(x, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _unpooled(3, x, indices, kernel_size, stride, padding, output_size)


def max_unpool1d(x, indices, kernel_size, stride=None, padding=0, output_size=None):
    """A plane of one column."""
    F, lead = _f(), x.ndim == 2
    first, = _many(kernel_size, 1)
    steps, = _many(kernel_size if stride is None else stride, 1)
    width, = _many(padding, 1)
    size = None if not output_size else (output_size[-1], 1)
    if lead:
        x, indices = F.expand_dims(x, 0), F.expand_dims(indices, 0)
    x, indices = F.expand_dims(x, 3), F.expand_dims(indices, 3)
    result = F.squeeze(_unpooled(2, x, indices, (first, 1), (steps, 1), (width, 0), size), -1)
    return F.squeeze(result, 0) if lead else result


def _many(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


def _unpooled(count, x, indices, kernel_size, stride, padding, output_size):
    """Elements back at the places that they came from, zeros elsewhere."""
    F, lead, name = _f(), x.ndim == count + 1, "MaxUnpool%dD" % count
    if x.shape != indices.shape:
        raise user_error(ValueError, name + ":shape", "%s takes a tensor and its places, not %s and %s" % (name, x.shape, indices.shape))
    kernel, padding = _many(kernel_size, count), _many(padding, count)
    stride = kernel if stride is None else _many(stride, count)
    if lead:
        x, indices = F.expand_dims(x, 0), F.expand_dims(indices, 0)
    if output_size:
        sides = tuple(output_size)[-count:]
    else:
        sides = tuple((side - 1) * s - 2 * p + k for side, s, p, k in zip(x.shape[2:], stride, padding, kernel))
    result = _unruled.record(name, [x, indices], [(x.shape[:2] + sides, x.dtype)], ksize=kernel, strides=stride, pads=padding)
    return F.squeeze(result, 0) if lead else result


NAMES = ("atleast_1d", "atleast_2d", "atleast_3d", "ravel", "swapdims", "adjoint", "fliplr", "flipud", "reverse", "tensor_split",
         "vsplit", "hsplit", "dsplit", "row_stack", "block_diag", "diagflat", "diag_embed", "matrix_band_part", "tril_indices",
         "triu_indices", "aminmax", "msort", "mirror_pad", "space_to_batch_nd", "batch_to_space_nd", "reverse_sequence", "shuffle",
         "is_nonzero", "max_unpool1d", "max_unpool2d", "max_unpool3d")
