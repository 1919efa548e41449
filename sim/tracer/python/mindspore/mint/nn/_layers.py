"""Layers of mindspore.mint.nn: PyTorch's names and arguments over the functions of mindspore.mint.nn.functional."""
from mindspore._drydock.errors import user_error
from mindspore.common import dtype as mstype
from mindspore.common.initializer import HeUniform, Uniform, initializer
from mindspore.common.parameter import Parameter
from mindspore.nn.cell import Cell
from mindspore.nn.layer.conv import _pair


def _functional():
    from mindspore.mint.nn import functional
    return functional


def _around(name, function, *arguments, calls=1):
    """A cell whose arguments, with their defaults, are further arguments of a function."""
    names = [argument for argument, _ in arguments]

    def __init__(self, *args, **kwargs):
        Cell.__init__(self)
        kwargs.pop("inplace", None)
        if len(args) > len(names) or any(key not in names for key in kwargs):
            raise user_error(TypeError, "mint.nn.%s:arguments" % name, "mint.nn.%s takes %s" % (name, ", ".join(names) or "no arguments"))
        self._settings = dict(arguments, **dict(zip(names, args)), **kwargs)

    def construct(self, *inputs):
        return getattr(_functional(), function)(*inputs, **self._settings)

    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__module__": "mindspore.mint.nn",
                                "__doc__": "See mindspore.mint.nn.%s." % name})


def _check(owner, **numbers):
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise user_error(ValueError, "%s:%s" % (owner, name), "%s of mint.nn.%s must be a positive whole number, not %r"
                             % (name, owner, value))


class _Conv(Cell):
    """Weight, bias and the function of as many dimensions."""

    _dims, _transposed = 2, False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", dtype=None, output_padding=0):
        super().__init__()
        owner = type(self).__name__
        _check(owner, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise user_error(ValueError, owner + ":groups", "the channels of mint.nn.%s must be multiples of groups" % owner)
        self.kernel_size, dtype = _pair(kernel_size, self._dims), dtype or mstype.float32
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.padding_mode, self.output_padding = padding_mode, output_padding
        outer, inner = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        shape = [outer, inner // groups] + list(self.kernel_size)
        self.weight = Parameter(initializer(HeUniform(5 ** 0.5), shape, dtype), name="weight")
        self.bias = Parameter(initializer(Uniform(), [out_channels], dtype), name="bias") if bias else None

    def construct(self, input):
        F, padding = _functional(), self.padding
        if self._transposed:
            return F.conv_transpose2d(input, self.weight, self.bias, self.stride, padding, self.output_padding, self.groups,
                                      self.dilation)
        if self.padding_mode != "zeros" and padding != 0:
            widths = tuple(width for width in reversed(_pair(padding, self._dims)) for _ in range(2))
            input, padding = F.pad(input, widths, self.padding_mode), 0
        return getattr(F, "conv%dd" % self._dims)(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """See mindspore.mint.nn.Conv1d."""

    _dims = 1


class Conv2d(_Conv):
    """See mindspore.mint.nn.Conv2d."""


class Conv3d(_Conv):
    """See mindspore.mint.nn.Conv3d."""

    _dims = 3


class ConvTranspose2d(_Conv):
    """See mindspore.mint.nn.ConvTranspose2d."""

    _transposed = True

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", dtype=None):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype,
                         output_padding)


class Embedding(Cell):
    """See mindspore.mint.nn.Embedding."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, dtype=None):
        super().__init__()
        _check("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        first = initializer("normal", [num_embeddings, embedding_dim], dtype or mstype.float32) if _weight is None else _weight
        self.weight = Parameter(first, name="weight", requires_grad=not _freeze)

    def construct(self, input):
        from mindspore.ops.primitive import operator
        return operator("Embedding")(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)


class GroupNorm(Cell):
    """See mindspore.mint.nn.GroupNorm."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, dtype=None):
        super().__init__()
        _check("GroupNorm", num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise user_error(ValueError, "GroupNorm:groups", "num_channels must be a multiple of num_groups")
        self.num_groups, self.num_channels, self.eps, dtype = num_groups, num_channels, eps, dtype or mstype.float32
        self.weight = Parameter(initializer("ones", [num_channels], dtype), name="weight", requires_grad=affine)
        self.bias = Parameter(initializer("zeros", [num_channels], dtype), name="bias", requires_grad=affine)

    def construct(self, input):
        from mindspore.ops.primitive import operator
        return operator("GroupNorm")(input, self.num_groups, self.weight, self.bias, self.eps)[0]


class _BatchNorm(Cell):
    """Normalisation over the batch and all dimensions behind the channels."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, dtype=None):
        super().__init__()
        _check(type(self).__name__, num_features=num_features)
        self.num_features, self.eps, self.momentum, dtype = num_features, eps, momentum, dtype or mstype.float32
        names = (("running_mean", "zeros", False), ("running_var", "ones", False), ("weight", "ones", affine), ("bias", "zeros", affine))
        for name, first, trained in names:
            setattr(self, name, Parameter(initializer(first, [num_features], dtype), name=name, requires_grad=trained))

    def construct(self, input):
        from mindspore.ops import functional as F
        from mindspore.ops.primitive import operator
        shape = input.shape
        plane = F.reshape(input, shape[:2] + (-1, shape[-1])) if len(shape) == 5 else \
            F.reshape(input, shape[:2] + (1, -1)) if len(shape) == 3 else input
        norm = operator("BatchNorm", is_training=self.training, epsilon=self.eps, momentum=self.momentum)
        result = norm(plane, self.weight, self.bias, self.running_mean, self.running_var)[0]
        return F.reshape(result, shape) if plane is not input else result


class BatchNorm1d(_BatchNorm):
    """See mindspore.mint.nn.BatchNorm1d."""


class BatchNorm2d(_BatchNorm):
    """See mindspore.mint.nn.BatchNorm2d."""


class BatchNorm3d(_BatchNorm):
    """See mindspore.mint.nn.BatchNorm3d."""


_POOL = (("kernel_size", None), ("stride", None), ("padding", 0), ("ceil_mode", False))
_LOSS = (("reduction", "mean"),)
_WEIGHTED = (("weight", None), ("ignore_index", -100), ("reduction", "mean"))
for _name, _function, _arguments in (
        ("AvgPool1d", "avg_pool1d", _POOL + (("count_include_pad", True),)),
        ("AvgPool2d", "avg_pool2d", _POOL + (("count_include_pad", True), ("divisor_override", None))),
        ("AvgPool3d", "avg_pool3d", _POOL + (("count_include_pad", True), ("divisor_override", None))),
        ("MaxPool2d", "max_pool2d", _POOL[:3] + (("dilation", 1), ("return_indices", False)) + _POOL[3:]),
        ("AdaptiveAvgPool1d", "adaptive_avg_pool1d", (("output_size", None),)),
        ("AdaptiveAvgPool2d", "adaptive_avg_pool2d", (("output_size", None),)),
        ("AdaptiveAvgPool3d", "adaptive_avg_pool3d", (("output_size", None),)),
        ("AdaptiveMaxPool1d", "adaptive_max_pool1d", (("output_size", None), ("return_indices", False))),
        ("AdaptiveMaxPool2d", "adaptive_max_pool2d", (("output_size", None), ("return_indices", False))),
        ("MSELoss", "mse_loss", _LOSS), ("L1Loss", "l1_loss", _LOSS), ("SoftMarginLoss", "soft_margin_loss", _LOSS),
        ("KLDivLoss", "kl_div", (("reduction", "mean"),)), ("SmoothL1Loss", "smooth_l1_loss", (("reduction", "mean"), ("beta", 1.0))),
        ("NLLLoss", "nll_loss", _WEIGHTED), ("CrossEntropyLoss", "cross_entropy", _WEIGHTED + (("label_smoothing", 0.0),)),
        ("BCELoss", "binary_cross_entropy", (("weight", None), ("reduction", "mean"))),
        ("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", (("weight", None), ("reduction", "mean"), ("pos_weight", None))),
        ("ELU", "elu", (("alpha", 1.0),)), ("GLU", "glu", (("dim", -1),)), ("Hardshrink", "hardshrink", (("lambd", 0.5),)),
        ("Softshrink", "softshrink", (("lambd", 0.5),)), ("Hardsigmoid", "hardsigmoid", ()), ("Hardswish", "hardswish", ()),
        ("Hardtanh", "hardtanh", (("min_val", -1.0), ("max_val", 1.0))), ("LogSigmoid", "logsigmoid", ()), ("Mish", "mish", ()),
        ("ReLU6", "relu6", ()), ("SELU", "selu", ()), ("Threshold", "threshold", (("threshold", None), ("value", None))),
        ("Flatten", "flatten", (("start_dim", 1), ("end_dim", -1))), ("Dropout2d", "dropout2d", (("p", 0.5),)),
        ("PixelShuffle", "pixel_shuffle", (("upscale_factor", 1),)),
        ("Fold", "fold", (("output_size", None), ("kernel_size", None), ("dilation", 1), ("padding", 0), ("stride", 1))),
        ("Unfold", "unfold", (("kernel_size", None), ("dilation", 1), ("padding", 0), ("stride", 1))),
        ("Upsample", "interpolate", (("size", None), ("scale_factor", None), ("mode", "nearest"), ("align_corners", None),
                                     ("recompute_scale_factor", None))),
        ("UpsamplingNearest2d", "interpolate", (("size", None), ("scale_factor", None))),
        ("UpsamplingBilinear2d", "interpolate", (("size", None), ("scale_factor", None), ("mode", "bilinear"), ("align_corners", True)))):
    globals()[_name] = _around(_name, _function, *_arguments)


class MaxUnpool2d(Cell):
    """See mindspore.mint.nn.MaxUnpool2d."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def construct(self, input, indices, output_size=None):
        return _functional().max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class PReLU(Cell):
    """See mindspore.mint.nn.PReLU."""

    def __init__(self, num_parameters=1, init=0.25, dtype=None):
        super().__init__()
        self.weight = Parameter(initializer(init, [num_parameters], dtype or mstype.float32), name="weight")

    def construct(self, input):
        from mindspore.ops.primitive import operator
        return operator("PReLU")(input, self.weight)


def _sync_batch_norm():
    from mindspore.nn.layer import normalization

    class SyncBatchNorm(normalization.SyncBatchNorm):
        """See mindspore.mint.nn.SyncBatchNorm: its momentum is the share of the new value."""

        def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                     dtype=None):
            super().__init__(num_features, eps, 1.0 - momentum, affine)

    return SyncBatchNorm


def find(name):
    """The layer of a name; None if there is none here."""
    found = globals().get(name)
    if isinstance(found, type) and issubclass(found, Cell) and not name.startswith("_"):
        return found
    if name[:-2] in ("ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad"):
        from mindspore.nn.layer import more_layers
        return getattr(more_layers, name)
    if name == "SyncBatchNorm":
        return _sync_batch_norm()
    return None
