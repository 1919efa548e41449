"""Primitives that the script defines: its infer_shape() and infer_dtype() give the types of the results."""
from mindspore._drydock.errors import user_error
from mindspore._recording import tracing
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor


def call(primitive, args):
    """Records a user-defined primitive; one tensor or a tuple of them."""
    from mindspore.ops import _table
    known = _table.primitive_class(primitive.name)
    if known is not None:
        return known._call_as(primitive, args)
    types = _inferred(primitive, args)
    operands = [v for v in args if isinstance(v, (Tensor, bool, int, float))]
    results = tracing.apply(primitive.name, operands, primitive.recorded_attrs(), primitive, types=types)
    return results[0] if len(results) == 1 else tuple(results)


def _inferred(primitive, args):
    """[(shape, element type)] of the results."""
    shapes = [list(v.shape) if isinstance(v, Tensor) else [] for v in args]
    dtypes = [v.dtype if isinstance(v, Tensor) else type(v) for v in args]
    if hasattr(primitive, "__infer__"):
        return _from_dict(primitive, args)
    shape = primitive.infer_shape(*shapes) if hasattr(primitive, "infer_shape") else shapes[0]
    dtype = primitive.infer_dtype(*dtypes) if hasattr(primitive, "infer_dtype") else dtypes[0]
    if isinstance(dtype, (tuple, list)):
        return list(zip(map(tuple, shape), map(_element_type, dtype)))
    return [(tuple(shape), _element_type(dtype))]


def _from_dict(primitive, args):
    facts = [{"shape": v.shape, "dtype": v.dtype, "value": None} if isinstance(v, Tensor) else
             {"shape": (), "dtype": type(v), "value": v} for v in args]
    result = primitive.__infer__(*facts)
    if isinstance(result["dtype"], (tuple, list)):
        return list(zip(map(tuple, result["shape"]), map(_element_type, result["dtype"])))
    return [(tuple(result["shape"]), _element_type(result["dtype"]))]


def _element_type(found):
    made = mstype.dtype_of(found)
    if made is None:
        raise user_error(TypeError, "PrimitiveWithInfer:dtype", "infer_dtype() gave %r, which is not an element type" % (found,))
    return made
