"""Primitives whose operator has no entry in the table, with the form of their results: see ops/_unruled.py."""
from mindspore._drydock.errors import user_error
from mindspore._recording import tracing
from mindspore.common import dtype as mstype
from mindspore.ops.primitive import Primitive, attr_value


class _Formed(Primitive):
    """Settings by name; `types` says what comes out of the tensors of a call."""

    settings = ()  # (name, default) of the constructor

    def __init__(self, *args, **kwargs):
        super().__init__(type(self).__name__)
        names = [name for name, _ in self.settings]
        if len(args) > len(names) or any(key not in names for key in kwargs):
            raise user_error(TypeError, self.name + ":arguments", "%s takes %s" % (self.name, ", ".join(names) or "no arguments"))
        for name, value in dict(self.settings, **dict(zip(names, args)), **kwargs).items():
            self.add_prim_attr(name, attr_value(value) if isinstance(value, list) else value)
        self.version = 0

    def __call__(self, *operands):
        types = self.types(*operands)
        results = tracing.apply(self.name, list(operands), self.recorded_attrs(), self, types=types)
        return results[0] if len(results) == 1 else tuple(results)

    def types(self, x, *others):
        return [(x.shape, x.dtype)]


def _like(name, *settings):
    return type(name, (_Formed,), {"settings": settings, "__module__": __name__, "__doc__": "See mindspore.ops.%s." % name})


HSwish, MatrixInverse, BoundingBoxDecode = _like("HSwish"), _like("MatrixInverse"), _like(
    "BoundingBoxDecode", ("max_shape", None), ("means", (0.0,) * 4), ("stds", (1.0,) * 4), ("wh_ratio_clip", 0.016))
LRN = _like("LRN", ("depth_radius", 5), ("bias", 1.0), ("alpha", 1.0), ("beta", 0.5), ("norm_region", "ACROSS_CHANNELS"))
CeLU, IndexAdd = _like("CeLU", ("alpha", 1.0)), _like("IndexAdd", ("axis", 0), ("use_lock", True), ("check_index_bound", True))
ReverseSequence, MaskedScatter = _like("ReverseSequence", ("seq_dim", 0), ("batch_dim", 0)), _like("MaskedScatter")
Logit = _like("Logit", ("eps", -1.0))


class _Truth(_Formed):
    def types(self, x):
        return [(x.shape, mstype.bool_)]


IsNan, IsInf = (type(name, (_Truth,), {"__module__": __name__, "__doc__": "See mindspore.ops.%s." % name}) for name in ("IsNan", "IsInf"))


class FloatStatus(_Formed):
    """See mindspore.ops.FloatStatus: one number that says whether one of the tensor's overflowed."""

    def types(self, x):
        return [((1,), x.dtype)]


class NMSWithMask(_Formed):
    """See mindspore.ops.NMSWithMask: the boxes, their numbers, and which of them are kept."""

    settings = (("iou_threshold", 0.5),)

    def types(self, bboxes):
        return [(bboxes.shape, bboxes.dtype), (bboxes.shape[:1], mstype.int32), (bboxes.shape[:1], mstype.bool_)]


class _PlanesDropped(_Formed):
    settings = (("keep_prob", 0.5),)

    def types(self, x):
        return [(x.shape, x.dtype), (x.shape, mstype.bool_)]


Dropout2D, Dropout3D = (type(name, (_PlanesDropped,), {"__module__": __name__, "__doc__": "See mindspore.ops.%s." % name})
                        for name in ("Dropout2D", "Dropout3D"))


class DepthToSpace(_Formed):
    """See mindspore.ops.DepthToSpace."""

    settings = (("block_size", 2),)

    def types(self, x):
        block, (n, c, h, w) = self.block_size, x.shape
        return [((n, c // block ** 2, h * block, w * block), x.dtype)]


class SpaceToDepth(_Formed):
    """See mindspore.ops.SpaceToDepth."""

    settings = (("block_size", 2),)

    def types(self, x):
        block, (n, c, h, w) = self.block_size, x.shape
        return [((n, c * block ** 2, h // block, w // block), x.dtype)]


class MaxPoolWithArgmax(_Formed):
    """See mindspore.ops.MaxPoolWithArgmax."""

    settings = (("kernel_size", 1), ("strides", 1), ("pad_mode", "valid"), ("data_format", "NCHW"))

    def types(self, x):
        sides = []
        for side, kernel, stride in zip(x.shape[2:], _pair(self.kernel_size), _pair(self.strides)):
            sides.append(-(-side // stride) if self.pad_mode.lower() == "same" else (side - kernel) // stride + 1)
        return [(x.shape[:2] + tuple(sides), x.dtype), (x.shape[:2] + tuple(sides), mstype.int32)]


def _pair(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


class Pad(Primitive):
    """See mindspore.ops.Pad: one pair of widths for each dimension."""

    def __init__(self, paddings):
        super().__init__("Pad")
        self.paddings = tuple(tuple(pair) for pair in paddings)

    def __call__(self, x):
        from mindspore.ops import _composed
        return _composed.pad(x, tuple(width for pair in reversed(self.paddings) for width in pair))


class AdaptiveAvgPool2D(Primitive):
    """See mindspore.ops.AdaptiveAvgPool2D."""

    def __init__(self, output_size):
        super().__init__("AdaptiveAvgPool2D")
        self.output_size = output_size

    def __call__(self, x):
        from mindspore.ops import _windows
        return _windows.adaptive_avg_pool2d(x, self.output_size)


class ScalarCast(Primitive):
    """See mindspore.ops.ScalarCast: a number of Python in another type."""

    def __init__(self):
        super().__init__("ScalarCast")

    def __call__(self, input_x, input_y):
        return mstype.dtype_to_pytype(mstype.dtype_of(input_y))(input_x)


FORMS = {name: value for name, value in dict(globals()).items()
         if isinstance(value, type) and issubclass(value, Primitive) and not name.startswith("_") and name != "Primitive"}
