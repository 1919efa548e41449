"""Cuts that MindSpore refuses where extents are open (None, Symbol), since its rewriting needs the numbers.

A network with open extents is recorded for one example of them; which dimensions are open follows the recording: those of the
input, and those of results that have the same extent as an open dimension of an operand.
Source: mindspore/ccsrc/frontend/parallel/ops_info, what each rule says of dynamic shapes (behaviour only).
Example: GatherD along dimension 0 of x (None, 32), cut ((2, 1), (1, 1)): refused, as dimension 0 is open.
"""
from mindspore._drydock.errors import user_error


def _axis_is_open(argument):
    """The dimension of the first operand that an argument names is cut and open."""
    def rule(op, cut, is_open, attrs):
        axis = attrs.get(argument, 0)
        axis = axis if isinstance(axis, int) else 0
        return _at(cut, 0, axis) > 1 and axis in is_open[0]
    return rule


def _at(cut, operand, dim):
    return cut[operand][dim] if operand < len(cut) and -len(cut[operand]) <= dim < len(cut[operand]) else 1


def _first_is_cut(op, cut, is_open, attrs):
    return _at(cut, 0, 0) > 1


def _first_is_cut_and_open(op, cut, is_open, attrs):
    return _at(cut, 0, 0) > 1 and 0 in is_open[0]


def _plane_is_open(op, cut, is_open, attrs):
    return bool({2, 3} & set(is_open[0]))


def _indices(op, cut, is_open, attrs):
    """The last dimension of the indices is open, or a dimension that they address is cut."""
    depth = attrs.get(_DEPTH, 0)
    return depth - 1 in attrs.get(_LAST, ()) or any(part > 1 for part in (cut[0][:depth] if cut else ()))


def _windows_overlap(op, cut, is_open, attrs):
    """Neighbours exchange rows or columns where the windows of a cut dimension overlap."""
    kernel, stride = (_pair(attrs.get(name, 1)) for name in ("kernel_size", "strides" if "strides" in attrs else "stride"))
    return any(_at(cut, 0, -2 + i) > 1 and kernel[-2 + i] > stride[-2 + i] for i in range(2))


def _volumes_overlap(op, cut, is_open, attrs):
    """The same for the first two dimensions of volumes."""
    kernel, stride = (_triple(attrs.get(name, 1)) for name in ("kernel_size", "strides"))
    return any(_at(cut, 0, 2 + i) > 1 and kernel[i] > stride[i] for i in range(2))


def _triple(value):
    return tuple(value)[-3:] if isinstance(value, (tuple, list)) else (value,) * 3


def _always(op, cut, is_open, attrs):
    return True


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


_DEPTH, _LAST = "indices depth", "indices open"
_RULES = {"GatherD": _axis_is_open("dim"), "Gather": _axis_is_open("axis"), "LinSpace": _first_is_cut,
          "ROIAlign": _first_is_cut, "CropAndResize": _first_is_cut_and_open, "ResizeBilinearV2": _plane_is_open,
          "ParallelResizeBilinear": _plane_is_open, "Conv2D": _windows_overlap, "MaxPool3D": _volumes_overlap, "AvgPool3D": _volumes_overlap,
          "Conv2DTranspose": _always, "Conv2DBackpropInput": _always, "DropoutDoMask": _always, "MatmulDDS": _always,
          "StandardNormal": _always, "UniformReal": _always}
_RULES.update({name: _first_is_cut for name in ("ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin",
                                                "ScatterUpdate")})
_RULES.update({name: _indices for name in (
    "ScatterNdAdd", "ScatterNdSub", "ScatterNdUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMul", "TensorScatterDiv",
    "TensorScatterMax", "TensorScatterMin", "TensorScatterUpdate")})


def dims_of(program, operand):
    return program.open_values.get(operand, ())


def check(program, op, operands, values, attrs, primitive):
    """Refuses a cut that needs extents which are open; `operands` are value ids, `values` the tensors of the script."""
    is_open = [dims_of(program, operand) for operand in operands]
    rule = _RULES.get(op)
    if not any(is_open):
        return
    _check_layouts(op, primitive)
    if rule is None or program.job["mode"] not in ("semi_auto_parallel", "auto_parallel"):
        return
    cut = (primitive.sharding_fields() if primitive is not None else {}).get("strategy") or []
    facts = dict(attrs)
    if rule is _indices and len(values) > 1:
        facts.update({_DEPTH: values[1].shape[-1], _LAST: tuple(dim for dim in is_open[1] if dim == values[1].ndim - 1)})
        if facts[_LAST]:
            facts[_LAST] = (facts[_DEPTH] - 1,)
    if rule(op, cut, is_open, facts):
        raise user_error(RuntimeError, op + ":open-extents", "%s'%s' does not work where extents are open%s"
                         % ("the strategy of " if cut else "", op, ": it needs the numbers to rewrite the operator" if cut else ""),
                         "give the input its extents, or leave the dimension whole")


def _check_layouts(op, primitive):
    """Layouts of operands with open extents have one axis a dimension, and none that is interleaved.

    Source: mindspore/ccsrc/frontend/parallel/dynamic_shape/dynamic_shape.cc (behaviour only).
    """
    for layout in (primitive.attrs.get("in_layout") or ()) if primitive is not None else ():
        parts = layout if isinstance(layout, (tuple, list)) else (layout,)
        for part in parts:
            several = any(isinstance(entry, (tuple, list)) and len(entry) > 1 for entry in part.get("tensor_map", ()))
            if several or part.get("interleaved_parallel"):
                raise user_error(RuntimeError, op + ":open-extents-layout", "a layout of '%s' %s, which does not work where extents are open"
                                 % (op, "cuts a dimension by several axes" if several else "is interleaved"),
                                 "give the input its extents, or one axis a dimension")


def follow(program, operands, results):
    """Dimensions of results that are open because an operand's are."""
    extents = {program.open_extents[operand][dim] for operand in operands for dim in dims_of(program, operand)}
    if not extents:
        return
    for result in results:
        mark(program, result, tuple(dim for dim, extent in enumerate(result.shape) if extent in extents))


def mark(program, tensor, dims):
    if dims:
        program.open_values[tensor._node[1]] = dims
        program.open_extents[tensor._node[1]] = tensor.shape
