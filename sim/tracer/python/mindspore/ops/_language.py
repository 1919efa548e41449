"""Functions on numbers of Python, tuples and lists, which compiled code has as operators; and what only asks for a fact.

Example: ops.scalar_add(2, 3) is 5, ops.tuple_getitem((a, b), 1) is b.
"""
import copy
import math
import operator

from mindspore._drydock.errors import Unsupported, user_error
from mindspore.common.tensor import Tensor

scalar_add, scalar_sub, scalar_mul = operator.add, operator.sub, operator.mul
scalar_div, scalar_floordiv, scalar_mod, scalar_pow = operator.truediv, operator.floordiv, operator.mod, operator.pow
scalar_eq, scalar_ne, scalar_lt, scalar_le, scalar_gt, scalar_ge = (
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
scalar_uadd, scalar_usub, scalar_log = operator.pos, operator.neg, math.log
scalar_max, scalar_min = max, min
string_eq, string_concat, tuple_equal, list_equal, bool_eq = operator.eq, operator.add, operator.eq, operator.eq, operator.eq
tuple_getitem, list_getitem, dict_getitem, list_len = operator.getitem, operator.getitem, operator.getitem, len
is_, is_not, bool_not = operator.is_, operator.is_not, operator.not_
deepcopy = copy.deepcopy


def bool_and(x, y):
    return x and y


def bool_or(x, y):
    return x or y


def scalar_cast(input_x, input_y):
    from mindspore.ops.operations import _forms
    return _forms.ScalarCast()(input_x, input_y)


def _with(sequence, position, value):
    items = list(sequence)
    items[position] = value
    return type(sequence)(items)


tuple_setitem = list_setitem = _with


def dict_setitem(target, key, value):
    return dict(target, **{key: value}) if isinstance(key, str) else {**target, key: value}


def tuple_reversed(x):
    return tuple(reversed(x))


def tuple_div(x, y):
    return tuple(a // b for a, b in zip(x, y))


def make_tuple(*items):
    return items


def make_list(*items):
    return list(items)


def make_dict(keys, values):
    return dict(zip(keys, values))


def make_slice(start, stop, step):
    return slice(start, stop, step)


def in_dict(x, y):
    return x in y


def not_in_dict(x, y):
    return x not in y


def tail(sequence):
    return sequence[1:]


def zip_operation(*sequences):
    return tuple(zip(*sequences))


def shape_mul(shape):
    return math.prod(shape)


def _never(x):
    """Extents are known while a network is recorded."""
    return False


is_sequence_value_unknown = is_sequence_shape_unknown = is_dynamic_sequence_element_unknown = _never


def shape_(x):
    return x.shape


def expand_as(input, other):
    return input.broadcast_to(other.shape)


def view_as(input, other):
    return input.reshape(other.shape)


def type_as(input, other):
    return input if input.dtype is other.dtype else input.astype(other.dtype)


def expand(input_x, size):
    wanted = size.tolist() if isinstance(size, Tensor) else size
    return input_x.broadcast_to(tuple(wanted))


def tensor_slice(input_x, begin, size):
    from mindspore.ops import functional
    return functional.slice(input_x, begin, size)


def move_to(input, to="CPU", blocking=True):
    return input


def vjp(fn, *inputs, weights=None, has_aux=False):
    """What the function gives, and a function from gradients of that to gradients by the inputs."""
    from mindspore.ops.composite import GradOperation
    if has_aux:
        raise Unsupported("mindspore.ops.vjp.has_aux")
    if not callable(fn):
        raise user_error(TypeError, "vjp:fn", "vjp() takes a function or a Cell, not %s" % type(fn).__name__)
    outputs = fn(*inputs)
    grad = GradOperation(get_all=True, get_by_list=weights is not None, sens_param=True)
    of_fn = grad(fn) if weights is None else grad(fn, weights)

    def vjp_fn(*sens):
        if len(sens) != 1:
            raise Unsupported("mindspore.ops.vjp.outputs", "vjp() of a function with several results is not supported")
        return of_fn(*inputs, sens[0])

    return outputs, vjp_fn


_COMMUNICATION = frozenset((
    "init_process_group", "destroy_process_group", "get_rank", "get_world_size", "get_backend", "get_global_rank", "get_group_rank",
    "get_process_group_ranks", "new_group", "is_available", "is_initialized", "barrier", "all_gather_into_tensor", "reduce_scatter_tensor",
    "all_to_all", "all_to_all_single", "broadcast", "recv", "isend", "irecv", "all_gather_object", "broadcast_object_list"))
NAMES = frozenset((
    "scalar_add", "scalar_sub", "scalar_mul", "scalar_div", "scalar_floordiv", "scalar_mod", "scalar_pow", "scalar_eq", "scalar_ne",
    "scalar_lt", "scalar_le", "scalar_gt", "scalar_ge", "scalar_uadd", "scalar_usub", "scalar_log", "scalar_max", "scalar_min",
    "scalar_cast", "string_eq", "string_concat", "tuple_equal", "list_equal", "bool_eq", "bool_not", "bool_and", "bool_or", "tuple_getitem",
    "list_getitem", "dict_getitem", "tuple_setitem", "list_setitem", "dict_setitem", "list_len", "tuple_reversed", "tuple_div",
    "make_tuple", "make_list", "make_dict", "make_slice", "in_dict", "not_in_dict", "is_", "is_not", "deepcopy", "tail", "zip_operation",
    "shape_mul", "is_sequence_value_unknown", "is_sequence_shape_unknown", "is_dynamic_sequence_element_unknown", "shape_", "expand_as",
    "view_as", "type_as", "expand", "tensor_slice", "move_to", "vjp")) | _COMMUNICATION


def __getattr__(name):
    """Functions of communication are those of mindspore.mint.distributed."""
    if name in _COMMUNICATION:
        from mindspore.mint import distributed
        return getattr(distributed, name)
    raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
