"""Pooling layers."""
from mindspore._drydock.lazy import module_getattr
from mindspore.nn.cell import Cell
from mindspore.ops import operations as P


class MaxPool2d(Cell):
    """See mindspore.nn.MaxPool2d."""

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, dilation=1, return_indices=False,
                 ceil_mode=False, data_format="NCHW"):
        super().__init__()
        self.max_pool = P.MaxPool(kernel_size=kernel_size, strides=stride, pad_mode=pad_mode, data_format=data_format)

    def construct(self, x):
        return self.max_pool(x)


class AvgPool2d(Cell):
    """See mindspore.nn.AvgPool2d."""

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, ceil_mode=False, count_include_pad=True,
                 divisor_override=None, data_format="NCHW"):
        super().__init__()
        self.avg_pool = P.AvgPool(kernel_size=kernel_size, strides=stride, pad_mode=pad_mode, data_format=data_format)

    def construct(self, x):
        return self.avg_pool(x)


class AdaptiveAvgPool2d(Cell):
    """See mindspore.nn.AdaptiveAvgPool2d."""

    def __init__(self, output_size):
        super().__init__()
        self.adaptive_avgpool2d = P.AdaptiveAvgPool2D(output_size)

    def construct(self, input):
        return self.adaptive_avgpool2d(input)


__getattr__ = module_getattr("mindspore.nn")
