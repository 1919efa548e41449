"""Convolution layers. Attribute names as in the reference: users shard them."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore._recording import values
from mindspore.common import dtype as mstype
from mindspore.common.initializer import HeUniform, Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P


def _pair(value, count=2):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


class _Convolution(Cell):
    """Weight, bias and what all convolutions check."""

    _transposed = False

    def __init__(self, in_channels, out_channels, kernel_size, group, has_bias, weight_init, bias_init, dtype):
        super().__init__()
        owner = type(self).__name__
        for name, value in (("in_channels", in_channels), ("out_channels", out_channels), ("group", group)):
            if values.plain_int(value) < 1:
                raise user_error(ValueError, "%s:%s-range" % (owner, name), "%s of %s must be positive" % (name, owner))
        if in_channels % group or out_channels % group:
            raise user_error(ValueError, owner + ":group", "the channels of %s must be multiples of group" % owner)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, _pair(kernel_size)
        self.has_bias, self.bias = has_bias, None
        outer, inner = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        self.weight = Parameter(initializer(weight_init if weight_init is not None else HeUniform(5 ** 0.5),
                                            [outer, inner // group] + list(self.kernel_size), dtype), name="weight")
        if has_bias:
            self.bias = Parameter(initializer(bias_init if bias_init is not None else Uniform(), [out_channels], dtype),
                                  name="bias")
        self.bias_add = P.BiasAdd()


class Conv2d(_Convolution):
    """See mindspore.nn.Conv2d."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 has_bias=False, weight_init=None, bias_init=None, data_format="NCHW", dtype=mstype.float32):
        super().__init__(in_channels, out_channels, kernel_size, group, has_bias, weight_init, bias_init, dtype)
        self.stride, self.dilation = _pair(stride), _pair(dilation)
        self.conv2d = P.Conv2D(out_channel=out_channels, kernel_size=self.kernel_size, mode=1, pad_mode=pad_mode,
                               pad=padding, stride=stride, dilation=dilation, group=group, data_format=data_format)

    def construct(self, x):
        out = self.conv2d(x, self.weight)
        return self.bias_add(out, self.bias) if self.has_bias else out


class Conv2dTranspose(_Convolution):
    """See mindspore.nn.Conv2dTranspose."""

    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, output_padding=0,
                 dilation=1, group=1, has_bias=False, weight_init=None, bias_init=None, dtype=mstype.float32):
        super().__init__(in_channels, out_channels, kernel_size, group, has_bias, weight_init, bias_init, dtype)
        self.stride, self.pad_mode, self.padding, self.dilation = _pair(stride), pad_mode, padding, _pair(dilation)
        self.conv2d_transpose = P.Conv2DTranspose(
            out_channel=in_channels, kernel_size=self.kernel_size, mode=1, pad_mode=pad_mode, pad=padding,
            stride=stride, dilation=dilation, group=group)

    def _extent(self, size, dim):
        stride, kernel = self.stride[dim], self.dilation[dim] * (self.kernel_size[dim] - 1) + 1
        if self.pad_mode == "same":
            return size * stride
        if self.pad_mode == "valid":
            return size * stride + max(kernel - stride, 0)
        pads = self.padding if isinstance(self.padding, (tuple, list)) else (self.padding,) * 4
        return (size - 1) * stride - pads[2 * dim] - pads[2 * dim + 1] + kernel

    def construct(self, x):
        shape = (x.shape[0], self.out_channels, self._extent(x.shape[2], 0), self._extent(x.shape[3], 1))
        out = self.conv2d_transpose(x, self.weight, shape)
        return self.bias_add(out, self.bias) if self.has_bias else out


def _check_input_3d(input_shape, op_name):
    if len(input_shape) != 3:
        raise user_error(ValueError, op_name + ":rank", "%s takes three dimensions, not %s" % (op_name, tuple(input_shape)))


__getattr__ = module_getattr("mindspore.nn")
