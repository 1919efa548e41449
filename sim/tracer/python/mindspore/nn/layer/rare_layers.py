"""Layers that few networks use: windows, activations with a random slope, moments, rolls, bilinear products, layers over time."""
import math

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell
from mindspore.nn.layer.more_layers import _around
from mindspore.ops import operations as P

LPPool1d = _around("LPPool1d", "lp_pool1d", ("norm_type", None), ("kernel_size", None), ("stride", None), ("ceil_mode", False))
LPPool2d = _around("LPPool2d", "lp_pool2d", ("norm_type", None), ("kernel_size", None), ("stride", None), ("ceil_mode", False))
FractionalMaxPool2d, FractionalMaxPool3d = (
    _around("FractionalMaxPool%dd" % count, "fractional_max_pool%dd" % count, ("kernel_size", None), ("output_size", None),
            ("output_ratio", None), ("return_indices", False), ("_random_samples", None)) for count in (2, 3))
RReLU = _around("RReLU", "rrelu", ("lower", 1 / 8), ("upper", 1 / 3))


class CELU(Cell):
    """See mindspore.nn.CELU."""

    def __init__(self, alpha=1.0):
        super().__init__()
        self.celu = P.CeLU(alpha)

    def construct(self, x):
        return self.celu(x)


class Softmax2d(Cell):
    """See mindspore.nn.Softmax2d: over the channels of planes."""

    def __init__(self):
        super().__init__()
        self.softmax = P.Softmax(axis=-3)

    def construct(self, x):
        if x.ndim not in (3, 4):
            raise user_error(ValueError, "Softmax2d:rank", "Softmax2d takes tensors of 3 or 4 dimensions, not of %d" % x.ndim)
        return self.softmax(x)


class LRN(Cell):
    """See mindspore.nn.LRN."""

    def __init__(self, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
        super().__init__()
        self.lrn_op = P.LRN(depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x):
        return self.lrn_op(input_x)


class ChannelShuffle(Cell):
    """See mindspore.nn.ChannelShuffle: the groups of channels take turns."""

    def __init__(self, groups):
        super().__init__()
        if isinstance(groups, bool) or not isinstance(groups, int):
            raise user_error(TypeError, "ChannelShuffle:groups", "groups of ChannelShuffle must be a whole number, not %r" % (groups,))
        if groups < 1:
            raise user_error(ValueError, "ChannelShuffle:groups", "groups of ChannelShuffle must be positive, not %d" % groups)
        self.groups, self.reshape, self.transpose = groups, P.Reshape(), P.Transpose()

    def construct(self, x):
        n, c = x.shape[:2]
        if c % self.groups:
            raise user_error(ValueError, "ChannelShuffle:channels", "%d channels cannot be put into %d groups" % (c, self.groups))
        grouped = self.reshape(x, (n, self.groups, c // self.groups, -1))
        return self.reshape(self.transpose(grouped, (0, 2, 1, 3)), x.shape)


class _MaxUnpool(Cell):
    """Elements back at the places that a pool took them from."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def construct(self, x, indices, output_size=None):
        from mindspore.ops import functional as F
        if output_size is not None and (not isinstance(output_size, tuple) or not output_size):
            raise user_error(ValueError, "MaxUnpool:output_size", "output_size must be a tuple of sizes, not %r" % (output_size,))
        return getattr(F, self._function)(x, indices, self.kernel_size, self.stride, self.padding, output_size)


MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = (
    type("MaxUnpool%dd" % count, (_MaxUnpool,), {"_function": "max_unpool%dd" % count, "__module__": __name__,
                                                 "__doc__": "See mindspore.nn.MaxUnpool%dd." % count}) for count in (1, 2, 3))


class Moments(Cell):
    """See mindspore.nn.Moments: mean and variance, in float32."""

    def __init__(self, axis=None, keep_dims=None):
        super().__init__()
        axis = () if axis is None else axis
        if isinstance(axis, bool) or not isinstance(axis, (int, tuple)):
            raise user_error(TypeError, "Moments:axis", "axis of Moments must be a whole number or a tuple, not %r" % (axis,))
        self.axis, self.keep_dims = axis, bool(keep_dims)
        self.reduce_mean, self.square_diff = P.ReduceMean(True), P.SquaredDifference()
        self.squeeze = P.Squeeze(axis)

    def construct(self, x):
        from mindspore.ops import functional as F
        if x.dtype not in (mstype.float16, mstype.float32):
            raise user_error(TypeError, "Moments:type", "Moments takes float16 and float32, not %s" % x.dtype)
        half = x.dtype is mstype.float16
        x = F.cast(x, mstype.float32) if half else x
        mean = self.reduce_mean(x, self.axis)
        variance = self.reduce_mean(self.square_diff(x, F.stop_gradient(mean)), self.axis)
        if not self.keep_dims:
            mean, variance = self.squeeze(mean), self.squeeze(variance)
        return (F.cast(mean, mstype.float16), F.cast(variance, mstype.float16)) if half else (mean, variance)


class ImageGradients(Cell):
    """See mindspore.nn.ImageGradients: differences of neighbours, with zeros in the last row and column."""

    def construct(self, images):
        from mindspore.ops.operations._python_ops import constant
        if images.ndim != 4:
            raise user_error(ValueError, "ImageGradients:rank", "ImageGradients takes images (N, C, H, W), not %s" % (images.shape,))
        n, c, height, width = images.shape
        dy, dx = constant((n, c, 1, width), 0, images.dtype), constant((n, c, height, 1), 0, images.dtype)
        if height > 1:
            dy = P.Concat(2)((images[:, :, 1:, :] - images[:, :, :height - 1, :], dy))
        if width > 1:
            dx = P.Concat(3)((images[:, :, :, 1:] - images[:, :, :, :width - 1], dx))
        return dy, dx


class L1Regularizer(Cell):
    """See mindspore.nn.L1Regularizer: scale * sum of |w|."""

    def __init__(self, scale):
        super().__init__()
        if isinstance(scale, bool) or not isinstance(scale, (int, float)):
            raise user_error(TypeError, "L1Regularizer:scale", "scale of L1Regularizer must be a number, not %r" % (scale,))
        if not 0 < scale < math.inf:
            raise user_error(ValueError, "L1Regularizer:scale", "scale of L1Regularizer must be a positive number, not %s" % scale)
        self.abs, self.reduce_sum, self.scale = P.Abs(), P.ReduceSum(), Tensor(scale, mstype.float32)

    def construct(self, weights):
        return P.Mul()(self.scale, self.reduce_sum(self.abs(weights)))


class Roll(Cell):
    """See mindspore.nn.Roll: one dimension after the other, each as the first one of a transposed tensor."""

    def __init__(self, shift, axis):
        super().__init__()
        shifts = list(shift) if isinstance(shift, (tuple, list)) else [shift]
        axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
        if any(isinstance(one, bool) or not isinstance(one, int) for one in shifts + axes):
            raise user_error(TypeError, "Roll:shift", "shift and axis of Roll must be whole numbers, not %r and %r" % (shift, axis))
        if len(shifts) != len(axes):
            raise user_error(ValueError, "Roll:axis", "Roll takes as many shifts as dimensions, not %d and %d" % (len(shifts), len(axes)))
        self.shift, self.axis = shifts, axes

    def construct(self, input_x):
        from mindspore.ops import functional as F
        for shift, axis in zip(self.shift, self.axis):
            if not -input_x.ndim <= axis < input_x.ndim:
                raise user_error(ValueError, "Roll:axis", "axis %d of Roll is no dimension of a tensor of %d" % (axis, input_x.ndim))
            order = list(range(input_x.ndim))
            order[0], order[axis] = order[axis], order[0]
            input_x = F.transpose(F.roll(F.transpose(input_x, tuple(order)), shift, 0), tuple(order))
        return input_x


class BiDense(Cell):
    """See mindspore.nn.BiDense."""

    def __init__(self, in1_channels, in2_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, dtype=mstype.float32):
        super().__init__()
        for name, value in (("in1_channels", in1_channels), ("in2_channels", in2_channels), ("out_channels", out_channels)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise user_error(ValueError, "BiDense:" + name, "%s of BiDense must be a positive whole number, not %r" % (name, value))
        self.in1_channels, self.in2_channels, self.out_channels, self.has_bias = in1_channels, in2_channels, out_channels, has_bias
        bound = 1 / math.sqrt(in1_channels)
        shape = (out_channels, in1_channels, in2_channels)
        self.weight = Parameter(initializer(Uniform(bound) if weight_init is None else weight_init, shape, dtype), name="weight")
        if has_bias:
            self.bias = Parameter(initializer(Uniform(bound) if bias_init is None else bias_init, [out_channels], dtype), name="bias")

    def construct(self, input1, input2):
        from mindspore.ops import functional as F
        for name, x, channels in (("input1", input1, self.in1_channels), ("input2", input2, self.in2_channels)):
            if x.shape[-1] != channels:
                raise user_error(ValueError, "BiDense:" + name, "the last dimension of %s is %d, not %d" % (name, x.shape[-1], channels))
        return F.bidense(input1, input2, self.weight, self.bias if self.has_bias else None)


class TimeDistributed(Cell):
    """See mindspore.nn.TimeDistributed: the layer on every step, or on all of them as one batch."""

    def __init__(self, layer, time_axis, reshape_with_axis=None):
        super().__init__()
        if not callable(layer):
            raise user_error(TypeError, "TimeDistributed:layer", "layer of TimeDistributed must be a Cell or a Primitive, not %r" % (layer,))
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis
        self.transpose, self.reshape = P.Transpose(), P.Reshape()

    def construct(self, inputs):
        rank = inputs.ndim
        time = self.time_axis % rank
        if self.reshape_with_axis is None:
            steps = P.Unstack(time)(inputs)
            return P.Stack(time)(tuple(self.layer(step) for step in steps))
        beside = self.reshape_with_axis % rank
        target = rank - 2 if beside == rank - 1 else beside + 1 if time > beside else beside - 1
        at = min(target, beside)
        order = [dim for dim in range(rank) if dim != time]
        order.insert(target, time)
        inputs = self.transpose(inputs, tuple(order))
        shape = inputs.shape
        outputs = self.layer(self.reshape(inputs, shape[:at] + (-1,) + shape[at + 2:]))
        found = outputs.shape[:at] + shape[at:at + 2] + outputs.shape[at + 1:]
        return self.reshape(outputs, (-1,) + found[1:])


def _spread(x):
    """A constant of the shape of the matrices that have the rows of `x` as diagonals."""
    from mindspore.ops.operations._python_ops import constant
    return constant(x.shape + x.shape[-1:], 1, x.dtype)


class MatrixDiag(Cell):
    """See mindspore.nn.MatrixDiag: rows as diagonals; a constant of the same shape says where they are."""

    def construct(self, input_x):
        from mindspore.ops import _unruled
        return _unruled.record("MatrixDiag", [input_x, _spread(input_x)], [(input_x.shape + input_x.shape[-1:], input_x.dtype)])


class MatrixDiagPart(Cell):
    """See mindspore.nn.MatrixDiagPart."""

    def construct(self, input_x):
        from mindspore.ops import _unruled
        from mindspore.ops.operations._python_ops import constant
        mask = constant(input_x.shape, 1, input_x.dtype)
        return _unruled.record("MatrixDiagPart", [input_x, mask], [(input_x.shape[:-2] + (min(input_x.shape[-2:]),), input_x.dtype)])


class MatrixSetDiag(Cell):
    """See mindspore.nn.MatrixSetDiag."""

    def construct(self, input_x, diagonal):
        from mindspore.ops import _unruled
        from mindspore.ops.operations._python_ops import constant
        mask = constant(input_x.shape, 1, input_x.dtype)
        return _unruled.record("MatrixSetDiag", [input_x, diagonal, mask], [(input_x.shape, input_x.dtype)])


NAMES = tuple(name for name, value in dict(globals()).items() if not name.startswith("_") and isinstance(value, type)
              and issubclass(value, Cell) and name != "Cell")
__getattr__ = module_getattr("mindspore.nn")
