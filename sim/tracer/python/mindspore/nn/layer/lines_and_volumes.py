"""Convolutions and pools of lines and volumes, which are those of planes with a dimension less or more.

A line is a plane of one row, as in the reference: x of (N, C, L) becomes (N, C, 1, L), and the result loses its row again.
"""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.nn.cell import Cell
from mindspore.nn.layer.conv import _Convolution, _pair
from mindspore.ops import _unruled, _windows
from mindspore.ops import operations as P


class Conv1d(_Convolution):
    """See mindspore.nn.Conv1d."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 has_bias=False, weight_init=None, bias_init=None, dtype=mstype.float32):
        super().__init__(in_channels, out_channels, (1, kernel_size), group, has_bias, weight_init, bias_init, dtype)
        self.conv2d = P.Conv2D(out_channel=out_channels, kernel_size=self.kernel_size, mode=1, pad_mode=pad_mode,
                               pad=(0, 0, padding, padding), stride=(1, stride), dilation=(1, dilation), group=group)
        self.expand_dims, self.squeeze = P.ExpandDims(), P.Squeeze(2)

    def construct(self, x):
        out = self.conv2d(self.expand_dims(x, 2), self.weight)
        return self.squeeze(self.bias_add(out, self.bias) if self.has_bias else out)


class Conv3d(_Convolution):
    """See mindspore.nn.Conv3d."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 has_bias=False, weight_init=None, bias_init=None, data_format="NCDHW", dtype=mstype.float32):
        super().__init__(in_channels, out_channels, _pair(kernel_size, 3), group, has_bias, weight_init, bias_init, dtype)
        self.conv3d = P.Conv3D(out_channel=out_channels, kernel_size=self.kernel_size, mode=1, pad_mode=pad_mode,
                               pad=padding, stride=stride, dilation=dilation, group=group, data_format=data_format)
        self.bias_add = P.BiasAdd(data_format=data_format)

    def construct(self, x):
        out = self.conv3d(x, self.weight)
        return self.bias_add(out, self.bias) if self.has_bias else out


class _Transposed(_Convolution):
    """Its extents are those of what a convolution would make the input of."""

    _transposed, _dims = True, 1

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 output_padding=0, has_bias=False, weight_init=None, bias_init=None, data_format=None, dtype=mstype.float32):
        kernel = _pair(kernel_size, self._dims)
        super().__init__(in_channels, out_channels, kernel, group, has_bias, weight_init, bias_init, dtype)
        self.pad_mode, self.stride, self.dilation = pad_mode, _pair(stride, self._dims), _pair(dilation, self._dims)
        self._more = _pair(output_padding, self._dims)
        self._padding = _pair(padding, self._dims) if pad_mode == "pad" else (0,) * self._dims

    def construct(self, x):
        extents = tuple(size * s if self.pad_mode == "same" else (size - 1) * s - 2 * p + d * (k - 1) + more + 1
                        for size, s, p, d, k, more in zip(x.shape[2:], self.stride, self._padding, self.dilation,
                                                          self.kernel_size, self._more))
        return _unruled.record("Conv%dDTranspose" % self._dims, [x, self.weight, self.bias],
                               [((x.shape[0], self.out_channels) + extents, x.dtype)], stride=self.stride)


class Conv1dTranspose(_Transposed):
    """See mindspore.nn.Conv1dTranspose."""


class Conv3dTranspose(_Transposed):
    """See mindspore.nn.Conv3dTranspose."""

    _dims = 3


class _Pool(Cell):
    """Windows over the last dimensions; `pad_mode` same rounds up."""

    _kind, _dims = "max", 1

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, *settings, ceil_mode=False, **more):
        super().__init__()
        self.kernel_size, self.stride = _pair(kernel_size, self._dims), _pair(stride, self._dims)
        self.pad_mode, self.padding, self.ceil_mode = pad_mode.lower(), padding, ceil_mode

    def construct(self, x):
        function = getattr(_windows, "%s_pool%dd" % (self._kind, self._dims))
        if self.pad_mode == "same":
            sides = tuple(-(-side // step) for side, step in zip(x.shape[-self._dims:], self.stride))
            return _unruled.resized("%sPool%dD" % (self._kind.capitalize(), self._dims), x, x.shape[:-self._dims] + sides)
        if self._dims == 1 and not self.padding and not self.ceil_mode:
            plane = P.ExpandDims()(x, 2)
            plane = _windows.avg_pool2d(plane, (1,) + self.kernel_size, (1,) + self.stride) if self._kind == "avg" else \
                _windows.max_pool2d(plane, (1,) + self.kernel_size, (1,) + self.stride)
            return P.Squeeze(2)(plane)
        return function(x, self.kernel_size, self.stride, self.padding, ceil_mode=self.ceil_mode)


def _pool(name, kind, dims):
    return type(name, (_Pool,), {"_kind": kind, "_dims": dims, "__module__": __name__, "__doc__": "See mindspore.nn.%s." % name})


MaxPool1d, MaxPool3d = _pool("MaxPool1d", "max", 1), _pool("MaxPool3d", "max", 3)
AvgPool1d, AvgPool3d = _pool("AvgPool1d", "avg", 1), _pool("AvgPool3d", "avg", 3)


def _adaptive(name, function):
    """A cell around adaptive pooling."""
    def __init__(self, output_size, return_indices=False):
        Cell.__init__(self)
        self.output_size = output_size

    def construct(self, x):
        return getattr(_windows, function)(x, self.output_size)

    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__module__": __name__,
                                "__doc__": "See mindspore.nn.%s." % name})


AdaptiveAvgPool1d = _adaptive("AdaptiveAvgPool1d", "adaptive_avg_pool1d")
AdaptiveAvgPool3d = _adaptive("AdaptiveAvgPool3d", "adaptive_avg_pool3d")
AdaptiveMaxPool1d = _adaptive("AdaptiveMaxPool1d", "adaptive_max_pool1d")
AdaptiveMaxPool2d = _adaptive("AdaptiveMaxPool2d", "adaptive_max_pool2d")
AdaptiveMaxPool3d = _adaptive("AdaptiveMaxPool3d", "adaptive_max_pool3d")

__getattr__ = module_getattr("mindspore.nn")
