"""Functional forms over windows: convolutions, pools, resizing."""
from mindspore._drydock.errors import Unsupported, user_error
from mindspore.ops import _unruled
from mindspore.ops.primitive import operator as op


def _f():
    from mindspore.ops import functional
    return functional


def _many(value, count):
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return items * count if len(items) == 1 else items


def _convolve(input, weight, bias, stride, padding, dilation, groups, count):
    """A line is a plane of one row."""
    F, lead = _f(), input.ndim == count + 1
    x = F.expand_dims(input, 0) if lead else input
    same = padding if isinstance(padding, str) else None
    stride, dilation = _many(stride, count), _many(dilation, count)
    widths = (0,) * count if same else _many(padding, count)
    if count == 1:
        x, weight = F.expand_dims(x, 2), F.expand_dims(weight, 2)
        stride, dilation, widths = (1,) + stride, (1,) + dilation, (0,) + widths
    name = "Conv3D" if count == 3 else "Conv2D"
    pads = tuple(width for width in widths for _ in range(2))
    result = op(name, out_channel=weight.shape[0], kernel_size=tuple(weight.shape[2:]), mode=1, pad=pads if not same else 0,
                pad_mode=same or ("pad" if any(pads) else "valid"), stride=stride, dilation=dilation, group=groups)(x, weight)
    if bias is not None:
        result = op("BiasAdd", data_format="NCDHW" if count == 3 else "NCHW")(result, bias)
    result = F.squeeze(result, 2) if count == 1 else result
    return F.squeeze(result, 0) if lead else result


def _convolution(count):
    def function(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, **older):
        if "pad_mode" in older:  # mindspore.ops: a mode, and widths that count where it is 'pad'
            mode = older.pop("pad_mode")
            padding = padding if mode == "pad" else mode
        if older:
            raise user_error(TypeError, "conv:arguments", "conv%dd() has no argument '%s'" % (count, sorted(older)[0]))
        return _convolve(input, weight, bias, stride, padding, dilation, groups, count)

    function.__name__ = "conv%dd" % count
    return function


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))


def _transposed(count):
    def function(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        stride, padding, more, dilation = (_many(value, count) for value in (stride, padding, output_padding, dilation))
        extents = tuple((side - 1) * s - 2 * p + d * (k - 1) + m + 1 for side, s, p, d, k, m in zip(
            input.shape[2:], stride, padding, dilation, weight.shape[2:], more))
        shape = (input.shape[0], weight.shape[1] * groups) + extents
        return _unruled.record("ConvTranspose%dD" % count, [input, weight, bias], [(shape, input.dtype)], stride=stride)

    function.__name__ = "conv_transpose%dd" % count
    return function


conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed, (1, 2, 3))


def _pooled(name, count):
    """Windows without padding are the operator of the table; with padding, or rounded up, one of its own name."""
    def function(input, kernel_size, stride=None, padding=0, *settings, ceil_mode=False, **more):
        kernel = _many(kernel_size, count)
        steps = kernel if stride is None or stride == () else _many(stride, count)
        widths = _many(padding, count)
        if count == 2 and not any(widths) and not ceil_mode:
            return op(name, kernel_size=kernel, strides=steps, pad_mode="valid")(input)
        up = (lambda a, b: -(-a // b)) if ceil_mode else (lambda a, b: a // b)
        sides = tuple(up(side + 2 * w - k, s) + 1 for side, k, s, w in zip(input.shape[-count:], kernel, steps, widths))
        return _unruled.resized("%s%dD" % (name, count), input, input.shape[:-count] + sides, kernel_size=kernel, strides=steps)

    function.__name__ = "%s_pool%dd" % (name[:3].lower(), count)
    return function


avg_pool1d, avg_pool2d, avg_pool3d = (_pooled("AvgPool", count) for count in (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = (_pooled("MaxPool", count) for count in (1, 2, 3))


def _adaptive(name, count):
    def function(input, output_size, return_indices=False):
        wanted = tuple(side if size is None else size for side, size in zip(input.shape[-count:], _many(output_size, count)))
        sides = input.shape[-count:]
        if (name, count) == ("AvgPool", 2):
            return op("AdaptiveAvgPool2D", output_size=wanted)(input)
        if count == 2 and not any(side % size for side, size in zip(sides, wanted)) and not return_indices:
            kernel = tuple(side // size for side, size in zip(sides, wanted))
            return op(name, kernel_size=kernel, strides=kernel, pad_mode="valid")(input)
        return _unruled.resized("Adaptive%s%dD" % (name, count), input, input.shape[:-count] + wanted)

    function.__name__ = "adaptive_%s_pool%dd" % (name[:3].lower(), count)
    return function


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive("AvgPool", count) for count in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive("MaxPool", count) for count in (1, 2, 3))

_MODES = ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area")


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """Another size of the dimensions behind channels: planes by the operators of the table, others by one of their own name."""
    if mode not in _MODES:
        raise user_error(ValueError, "interpolate:mode", "mode of interpolate() cannot be %r" % (mode,), "one of: " + ", ".join(_MODES))
    sides = input.shape[2:]
    if (size is None) == (scale_factor is None):
        raise user_error(ValueError, "interpolate:size", "interpolate() takes either size or scale_factor")
    wanted = _many(size, len(sides)) if size is not None else tuple(
        int(side * factor) for side, factor in zip(sides, _many(scale_factor, len(sides))))
    corners = bool(align_corners)
    if len(sides) == 2 and mode == "nearest":
        return op("ResizeNearestNeighbor", size=wanted, align_corners=corners)(input)
    if len(sides) == 2 and mode == "bilinear":
        return op("ResizeBilinearV2", align_corners=corners, half_pixel_centers=not corners)(input, wanted)
    name = "Upsample%s%dD" % (mode.partition("-")[0].capitalize(), len(sides))
    return _unruled.resized(name, input, input.shape[:2] + wanted, align_corners=corners)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    return interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    if input.ndim == 4:
        return op("GridSampler2D", interpolation_mode=mode, padding_mode=padding_mode, align_corners=align_corners)(input, grid)
    return _unruled.record("GridSampler3D", [input, grid], [(input.shape[:2] + grid.shape[1:4], input.dtype)])


def dropout2d(input, p=0.5, training=True):
    """Whole planes are dropped: a mask of one number for each, spread over it."""
    if not training or p == 0:
        return input
    if not 0 <= p < 1:
        raise Unsupported("mindspore.ops.dropout2d.p", "dropout2d() with p %r is not supported" % (p,))
    mask = _unruled.record("Dropout%dD" % (input.ndim - 2), [input], [(input.shape[:2] + (1,) * (input.ndim - 2), input.dtype)])
    return input * mask


dropout1d = dropout3d = dropout2d


NAMES = tuple(name for name in dict(globals()) if not name.startswith("_") and name not in (
    "Unsupported", "user_error", "op"))
