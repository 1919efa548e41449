"""Pooling layers."""
from mindspore._drydock.errors import Unsupported
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
    """See mindspore.nn.AdaptiveAvgPool2d, where the output divides the input."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)

    def construct(self, x):
        kernel = []
        for size, wanted in zip(x.shape[-2:], self.output_size):
            wanted = size if wanted is None else wanted
            if size % wanted:
                raise Unsupported("mindspore.nn.AdaptiveAvgPool2d", "AdaptiveAvgPool2d of %d rows or columns into %d is "
                                  "not supported" % (size, wanted), "choose an output that divides the input")
            kernel.append(size // wanted)
        return P.AvgPool(kernel_size=tuple(kernel), strides=tuple(kernel), pad_mode="valid")(x)


__getattr__ = module_getattr("mindspore.nn")
