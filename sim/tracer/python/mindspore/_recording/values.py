"""Python data of tensors: shapes, element types and small values, with or without numpy."""
import struct
import sys

from mindspore._drydock.errors import user_error

MAX_KEPT_ELEMENTS = 65536


def count(shape):
    total = 1
    for extent in shape:
        total *= extent
    return total


def plain_int(value):
    """An exact int of an integer of any library; TypeError otherwise."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError("%r is not an integer" % (value,))
    return value.__index__()


def shape_of_argument(shape):
    """A shape argument (int, tuple, list) as a tuple of ints."""
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        shape = tuple(plain_int(item) for item in items)
    except TypeError:
        raise user_error(TypeError, "Tensor:shape-type",
                         "a shape must hold whole numbers, not %r" % (shape,)) from None
    if any(extent < 0 for extent in shape):
        raise user_error(ValueError, "Tensor:negative-extent", "shape %s has a negative extent" % (shape,))
    return shape


def open_extents(shape):
    """The shape as a tuple if it leaves extents open (None, -1 or Symbol), else None."""
    if not isinstance(shape, (tuple, list)):
        return None
    if any(item is None or type(item).__name__ == "Symbol" or type(item) is int and item == -1 for item in shape):
        return tuple(shape)
    return None


def example_shape(shape):
    """Extents to compile with where the script leaves them open."""
    from mindspore.common.symbol import EXAMPLE
    return tuple(EXAMPLE if item is None or type(item) is int and item == -1 else
                 item.example() if type(item).__name__ == "Symbol" else plain_int(item) for item in shape)


def describe(data):
    """(shape, element type) of Python data."""
    from mindspore.common import dtype as mstype
    if isinstance(data, bool):
        return (), mstype.bool_
    if isinstance(data, int):
        return (), mstype.int64
    if isinstance(data, float):
        return (), mstype.float32
    if isinstance(data, complex):
        return (), mstype.complex128
    if hasattr(data, "shape") and hasattr(data, "dtype"):  # an array of numpy or of its kind
        found = mstype.dtype_named(str(data.dtype))
        if found is None:
            raise _foreign_array(data)
        return tuple(int(extent) for extent in data.shape), found
    if isinstance(data, (list, tuple)):
        return _describe_list(data)
    raise user_error(TypeError, "Tensor:data-type",
                     "a Tensor cannot be made of a %s" % type(data).__name__,
                     "give it a number, a list, a numpy array or a Tensor")


def _foreign_array(data):
    library = type(data).__module__.split(".")[0]
    if library == "numpy":
        return user_error(TypeError, "Tensor:dtype", "a Tensor cannot hold elements of type %s" % data.dtype)
    return user_error(TypeError, "Tensor:data-type",
                      "a %s of %s is not a Tensor of mindspore" % (type(data).__name__, library),
                      "convert it where it enters: Tensor(value.detach().cpu().numpy())" if library == "torch" else
                      "convert it to a numpy array first")


def _describe_list(data):
    from mindspore.common import dtype as mstype
    if not data:
        return (0,), mstype.float32
    parts = [_describe_item(item) for item in data]
    if any(part[0] != parts[0][0] for part in parts):
        raise user_error(ValueError, "Tensor:ragged", "the rows of a list for a Tensor differ in length")
    found = parts[0][1]
    for part in parts[1:]:
        found = mstype.promote(found, part[1])
    return (len(data),) + parts[0][0], found


def _describe_item(item):
    if hasattr(item, "_dtype"):
        return item._shape, item._dtype
    return describe(item)


def flat(data, dtype):
    """Elements of Python data, row major, as Python numbers of the element type."""
    if hasattr(data, "_flat"):
        items = data._flat("value")
    elif hasattr(data, "ravel"):
        items = data.ravel().tolist()
    elif isinstance(data, (list, tuple)):
        items = [number for item in data for number in flat(item, dtype)]
    else:
        items = [data]
    cast = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}[dtype.kind]
    return [cast(item) for item in items]


def can_hold(items, dtype):
    """False for a division by zero in whole numbers, which has another result on every device."""
    return dtype.kind == "float" or not any(isinstance(item, str) for item in items)


def rounded(items, dtype):
    """Computed numbers as an element type holds them."""
    code = {"float32": "f", "float16": "e"}.get(dtype.name)
    if code is None:
        return flat(items, dtype)
    try:
        form = "<%d%s" % (len(items), code)
        return list(struct.unpack(form, struct.pack(form, *(float(item) for item in items))))
    except OverflowError:  # beyond the type's range
        return flat(items, dtype)


def zeros(shape, dtype):
    zero = {"bool": False, "int": 0, "uint": 0, "float": 0.0, "complex": 0j}[dtype.kind]
    return [zero] * min(count(shape), MAX_KEPT_ELEMENTS)


def nest(items, shape):
    """Nested lists of a flat list."""
    if not shape:
        return items[0] if items else 0
    step = count(shape[1:])
    return [nest(items[i * step:(i + 1) * step], shape[1:]) for i in range(shape[0])]


def numpy_or_none():
    """The numpy module if this interpreter has it."""
    module = sys.modules.get("numpy")
    if module is None:
        try:
            import numpy as module
        except ImportError:
            return None
    return module


def as_array(items, shape, dtype):
    """A numpy array where numpy is installed, nested lists elsewhere."""
    numpy = numpy_or_none()
    if numpy is None:
        return nest(items, shape)
    name = "float32" if dtype.name == "bfloat16" else dtype.name
    if len(items) != count(shape):
        return numpy.zeros(shape, dtype=name)
    return numpy.asarray(items, dtype=name).reshape(shape)
