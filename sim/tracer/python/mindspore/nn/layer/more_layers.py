"""Layers around one function or a few operators: activations, padding, planes, norms, dropout of planes."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.initializer import initializer
from mindspore.common.parameter import Parameter
from mindspore.nn.cell import Cell
from mindspore.nn.layer.basic import Dense
from mindspore.nn.layer.normalization import _BatchNorm
from mindspore.ops import operations as P


def _around(name, function, *arguments):
    """A cell whose arguments, with their defaults, are further arguments of a function of mindspore.ops."""
    names = [argument for argument, _ in arguments]

    def __init__(self, *args, **kwargs):
        Cell.__init__(self)
        if len(args) > len(names) or any(key not in names for key in kwargs):
            raise user_error(TypeError, name + ":arguments", "%s takes %s" % (name, ", ".join(names) or "no arguments"))
        self._settings = dict(arguments, **dict(zip(names, args)), **kwargs)

    def construct(self, x):
        from mindspore.ops import functional
        return getattr(functional, function)(x, *[self._settings[key] for key in names])

    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__module__": __name__,
                                "__doc__": "See mindspore.nn.%s." % name})


LeakyReLU = _around("LeakyReLU", "leaky_relu", ("alpha", 0.2))
Hardtanh = _around("Hardtanh", "hardtanh", ("min_val", -1.0), ("max_val", 1.0))
GLU = _around("GLU", "glu", ("axis", -1))
Mish, SeLU, Softsign = _around("Mish", "mish"), _around("SeLU", "selu"), _around("Softsign", "softsign")
Tanhshrink, Softmin = _around("Tanhshrink", "tanhshrink"), _around("Softmin", "softmin", ("axis", -1))
Threshold = _around("Threshold", "threshold", ("threshold", None), ("value", None))
PixelShuffle = _around("PixelShuffle", "pixel_shuffle", ("upscale_factor", 1))
PixelUnshuffle = _around("PixelUnshuffle", "pixel_unshuffle", ("downscale_factor", 1))
Upsample = _around("Upsample", "interpolate", ("size", None), ("scale_factor", None), ("mode", "nearest"), ("align_corners", None),
                   ("recompute_scale_factor", None))
ReduceLogSumExp = _around("ReduceLogSumExp", "logsumexp", ("axis", None), ("keep_dims", False))


class Unfold(Cell):
    """See mindspore.nn.Unfold: (1, rows, columns, 1) each; blocks stay a plane."""

    def __init__(self, ksizes, strides, rates, padding="valid"):
        super().__init__()
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            if not isinstance(value, (tuple, list)) or len(value) != 4 or value[0] != 1 or value[3] != 1 or any(
                    isinstance(side, bool) or not isinstance(side, int) or side < 1 for side in value[1:3]):
                raise user_error(ValueError, "Unfold:" + name, "%s of Unfold must be (1, rows, columns, 1), not %r" % (name, value))

    def construct(self, input_x):
        from mindspore.ops import _unruled
        sides = [tuple(value[1:3]) for value in (self.ksizes, self.strides, self.rates)]
        return _unruled.image_patches(input_x, *sides, self.padding)


class HShrink(Cell):
    """See mindspore.nn.HShrink."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.hshrink = P.HShrink(lambd)

    def construct(self, x):
        return self.hshrink(x)


class SoftShrink(Cell):
    """See mindspore.nn.SoftShrink."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.softshrink = P.SoftShrink(lambd)

    def construct(self, x):
        return self.softshrink(x)


class _PlaneDropout(Cell):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def construct(self, x):
        from mindspore.ops import _windows
        return _windows.dropout2d(x, self.p, self.training)


Dropout1d, Dropout2d, Dropout3d = (type(name, (_PlaneDropout,), {"__module__": __name__, "__doc__": "See mindspore.nn.%s." % name})
                                   for name in ("Dropout1d", "Dropout2d", "Dropout3d"))


class Pad(Cell):
    """See mindspore.nn.Pad: one pair of widths for each dimension."""

    def __init__(self, paddings, mode="CONSTANT"):
        super().__init__()
        if mode not in ("CONSTANT", "REFLECT", "SYMMETRIC"):
            raise user_error(ValueError, "Pad:mode", "mode of Pad must be 'CONSTANT', 'REFLECT' or 'SYMMETRIC', not %r" % (mode,))
        self.paddings, self.mode = tuple(tuple(pair) for pair in paddings), mode

    def construct(self, x):
        from mindspore.ops import _composed, _unruled
        flat = tuple(width for pair in reversed(self.paddings) for width in pair)
        if self.mode == "CONSTANT":
            return _composed.pad(x, flat)
        shape = tuple(extent + sum(pair) for extent, pair in zip(x.shape, self.paddings))
        return _unruled.record("MirrorPad", [x], [(shape, x.dtype)], mode=self.mode)


class _SidePad(Cell):
    """The same width on all sides of the last dimensions, or one for each side."""

    _mode, _dims = "constant", 2

    def __init__(self, padding, value=0):
        super().__init__()
        self.padding = (padding,) * (2 * self._dims) if isinstance(padding, int) else tuple(padding)
        self.value = value

    def construct(self, x):
        from mindspore.ops import _composed
        return _composed.pad(x, self.padding, self._mode, self.value if self._mode == "constant" else None)


for _mode, _word in (("constant", "ConstantPad"), ("constant", "ZeroPad"), ("reflect", "ReflectionPad"), ("edge", "ReplicationPad")):
    for _dims in (1, 2, 3):
        _name = "%s%dd" % (_word, _dims)
        globals()[_name] = type(_name, (_SidePad,), {"_mode": _mode, "_dims": _dims, "__module__": __name__,
                                                     "__doc__": "See mindspore.nn.%s." % _name})


class BatchNorm3d(_BatchNorm):
    """See mindspore.nn.BatchNorm3d: a volume as a plane of depth times height rows."""

    def construct(self, x):
        n, c, d, h, w = x.shape
        plane = P.Reshape()(x, (n, c, d * h, w))
        return P.Reshape()(super().construct(plane), (n, c, d, h, w))


class _InstanceNorm(Cell):
    """See mindspore.nn.InstanceNorm2d: every plane of every sample by itself."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, gamma_init="ones", beta_init="zeros",
                 dtype=mstype.float32):
        super().__init__()
        if isinstance(num_features, bool) or not isinstance(num_features, int) or num_features < 1:
            raise user_error(ValueError, type(self).__name__ + ":features", "num_features must be a positive whole number")
        self.num_features, self.eps, self.affine = num_features, eps, affine
        self.gamma = Parameter(initializer(gamma_init, [num_features], dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [num_features], dtype), name="beta", requires_grad=affine)

    def construct(self, x):
        from mindspore.ops import _unruled
        moments = ((x.shape[0] * self.num_features,), mstype.float32)
        return _unruled.record("InstanceNorm", [x, self.gamma, self.beta], [(x.shape, x.dtype), moments, moments], epsilon=self.eps)[0]


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = (
    type(name, (_InstanceNorm,), {"__module__": __name__, "__doc__": "See mindspore.nn.%s." % name})
    for name in ("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"))


class Norm(Cell):
    """The Euclidean norm."""

    def __init__(self, axis=(), keep_dims=False):
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims

    def construct(self, x):
        from mindspore.ops import functional as F
        return F.sqrt(P.ReduceSum(self.keep_dims)(F.square(x), self.axis))


class OneHot(Cell):
    """See mindspore.nn.OneHot."""

    def __init__(self, axis=-1, depth=1, on_value=1.0, off_value=0.0, dtype=mstype.float32):
        super().__init__()
        self.onehot, self.depth, self.dtype = P.OneHot(axis), depth, dtype
        self.on_value, self.off_value = on_value, off_value

    def construct(self, indices):
        from mindspore.common.tensor import Tensor
        return self.onehot(indices, self.depth, Tensor(self.on_value, self.dtype), Tensor(self.off_value, self.dtype))


class MatMul(Cell):
    """See mindspore.nn.MatMul."""

    def __init__(self, transpose_x1=False, transpose_x2=False):
        super().__init__()
        self.transpose_x1, self.transpose_x2 = transpose_x1, transpose_x2

    def construct(self, x1, x2):
        from mindspore.ops import functional as F
        x1 = x1.swapaxes(-1, -2) if self.transpose_x1 else x1
        return F.matmul(x1, x2.swapaxes(-1, -2) if self.transpose_x2 else x2)


class Unflatten(Cell):
    """See mindspore.nn.Unflatten."""

    def __init__(self, axis, unflattened_size):
        super().__init__()
        self.axis, self.size = axis, tuple(unflattened_size)

    def construct(self, x):
        axis = self.axis % x.ndim
        return P.Reshape()(x, x.shape[:axis] + self.size + x.shape[axis + 1:])


class CentralCrop(Cell):
    """See mindspore.nn.CentralCrop."""

    def __init__(self, central_fraction):
        super().__init__()
        self.central_fraction = central_fraction

    def construct(self, image):
        from mindspore.ops import functional as F
        for dim in (-2, -1):
            begin = int((image.shape[dim] - image.shape[dim] * self.central_fraction) / 2)
            image = F.narrow(image, dim, begin, image.shape[dim] - 2 * begin)
        return image


class PSNR(Cell):
    """See mindspore.nn.PSNR."""

    def __init__(self, max_val=1.0):
        super().__init__()
        self.max_val = max_val

    def construct(self, img1, img2):
        from mindspore.ops import functional as F
        error = F.reduce_mean(F.square(img1 - img2), (-3, -2, -1))
        return F.log(self.max_val ** 2 / error) * (10.0 / 2.302585092994046)


class _WithActivation(Cell):
    """A layer, a normalisation and an activation."""

    def __init__(self, layer, features, has_bn, activation, eps, momentum):
        from mindspore.nn.layer.activation import get_activation
        from mindspore.nn.layer.normalization import BatchNorm2d
        super().__init__()
        self.layer = layer
        self.batchnorm = BatchNorm2d(features, eps, momentum) if has_bn else None
        self.activation = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, x):
        x = self.layer(x)
        x = self.batchnorm(x) if self.batchnorm is not None else x
        return self.activation(x) if self.activation is not None else x


class Conv2dBnAct(_WithActivation):
    """See mindspore.nn.Conv2dBnAct."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1,
                 has_bias=False, weight_init="normal", bias_init="zeros", has_bn=False, momentum=0.997, eps=1e-5,
                 activation=None, alpha=0.2, after_fake=True):
        from mindspore.nn.layer.conv import Conv2d
        layer = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                       weight_init, bias_init)
        super().__init__(layer, out_channels, has_bn, activation, eps, momentum)


class DenseBnAct(_WithActivation):
    """See mindspore.nn.DenseBnAct."""

    def __init__(self, in_channels, out_channels, weight_init="normal", bias_init="zeros", has_bias=True, has_bn=False,
                 momentum=0.9, eps=1e-5, activation=None, alpha=0.2, after_fake=True):
        super().__init__(Dense(in_channels, out_channels, weight_init, bias_init, has_bias), out_channels, has_bn, activation, eps,
                         momentum)


class CellDict(Cell):
    """See mindspore.nn.CellDict: cells by name."""

    def __init__(self, *args, **kwargs):
        super().__init__(auto_prefix=kwargs.get("auto_prefix", True))
        if args:
            self.update(args[0])

    def update(self, cells):
        for name, cell in (cells.items() if hasattr(cells, "items") else cells):
            self[name] = cell

    def __setitem__(self, name, cell):
        if not isinstance(cell, Cell):
            raise user_error(TypeError, "CellDict:item", "CellDict holds Cells, not %s" % type(cell).__name__)
        setattr(self, name, cell)

    def __getitem__(self, name):
        return self._cells[name]

    def __delitem__(self, name):
        del self._cells[name]

    def __contains__(self, name):
        return name in self._cells

    def __len__(self):
        return len(self._cells)

    def __iter__(self):
        return iter(self._cells)

    def pop(self, name):
        return self._cells.pop(name)

    def clear(self):
        self._cells.clear()

    def keys(self):
        return self._cells.keys()

    def values(self):
        return self._cells.values()

    def items(self):
        return self._cells.items()


NAMES = tuple(name for name, value in dict(globals()).items() if not name.startswith("_") and isinstance(value, type)
              and issubclass(value, Cell) and name not in ("Cell", "Dense"))

class Range(Cell):
    """See mindspore.nn.Range."""

    def __init__(self, start, limit=None, delta=1):
        super().__init__()
        self._bounds = (0, start, delta) if limit is None else (start, limit, delta)

    def construct(self):
        from mindspore.ops import functional
        return functional.arange(*self._bounds)


class ParameterUpdate(Cell):
    """See mindspore.nn.ParameterUpdate: the parameter takes the value."""

    def __init__(self, param):
        super().__init__()
        if not isinstance(param, Parameter):
            raise user_error(TypeError, "ParameterUpdate:param", "ParameterUpdate takes a Parameter, not %s" % type(param).__name__)
        self._param = param

    def construct(self, x):
        return P.Assign()(self._param, x)


class SSIM(Cell):
    """See mindspore.nn.SSIM: means, variances and covariance of windows of both images, one number an image."""

    def __init__(self, max_val=1.0, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03):
        super().__init__()
        self.filter_size, self.constants = filter_size, ((k1 * max_val) ** 2, (k2 * max_val) ** 2)

    def construct(self, img1, img2):
        from mindspore.ops import functional as F
        from mindspore.ops.operations._python_ops import constant
        if img1.shape != img2.shape or img1.ndim != 4 or min(img1.shape[2:]) < self.filter_size:
            raise user_error(ValueError, "SSIM:shape", "SSIM takes two equal images (N, C, H, W) of at least %d x %d, not %s and %s"
                             % (self.filter_size, self.filter_size, img1.shape, img2.shape))
        channels, size = img1.shape[1], self.filter_size
        window = constant((channels, 1, size, size), 1.0 / size ** 2, img1.dtype)

        def mean(x):
            return P.Conv2D(channels, size, group=channels)(x, window)
        first, second = mean(img1), mean(img2)
        products, squares = first * second * 2.0, F.square(first) + F.square(second)
        c1, c2 = self.constants
        luminance = (products + c1) / (squares + c1)
        contrast = (mean(img1 * img2) * 2.0 - products + c2) / (mean(F.square(img1) + F.square(img2)) - squares + c2)
        return F.reduce_mean(F.reduce_mean(luminance * contrast, (-3, -2)), -1)


__getattr__ = module_getattr("mindspore.nn")
