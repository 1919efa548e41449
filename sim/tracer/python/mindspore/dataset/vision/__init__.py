"""Transforms of images."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation
from mindspore.dataset.rows import Column


class Inter:
    """Interpolation modes."""

    NEAREST, BILINEAR, BICUBIC, AREA, LINEAR, CUBIC, PILCUBIC, ANTIALIAS = range(8)


class _Same(Operation):
    """No change of form."""

    def __init__(self, *args, **kwargs):
        return None


class _ToFloat(_Same):
    """float32 of the same shape."""

    def columns(self, inputs):
        return [Column(c.shape, mstype.float32) for c in inputs]


class _Sized(Operation):
    """Height and width become what the first argument says."""

    def __init__(self, size, *args, **kwargs):
        self._size = (size, size) if isinstance(size, int) else tuple(size)

    def columns(self, inputs):
        return [Column(tuple(self._size) + c.shape[2:], c.dtype) for c in inputs]


class HWC2CHW(Operation):
    """Channels first."""

    def columns(self, inputs):
        return [Column(c.shape[2:] + c.shape[:2], c.dtype) for c in inputs]


class ToTensor(Operation):
    """Channels first and float32."""

    def __init__(self, output_type=None):
        self._dtype = mstype.dtype_of(output_type, mstype.float32)

    def columns(self, inputs):
        return [Column((c.shape[2:] or (1,)) + c.shape[:2], self._dtype) for c in inputs]


class SlicePatches(Operation):
    """One image as a grid of patches, one column each."""

    def __init__(self, num_height=1, num_width=1, *args, **kwargs):
        self._grid = (num_height, num_width)

    def columns(self, inputs):
        rows, cols = self._grid
        return [Column((-(-c.shape[0] // rows), -(-c.shape[1] // cols)) + c.shape[2:], c.dtype)
                for c in inputs for _ in range(rows * cols)]


class Pad(Operation):
    """A border of the given width."""

    def __init__(self, padding, *args, **kwargs):
        sides = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
        self._sides = sides * 2 if len(sides) == 2 else sides

    def columns(self, inputs):
        left, top, right, bottom = self._sides
        return [Column((c.shape[0] + top + bottom, c.shape[1] + left + right) + c.shape[2:], c.dtype) for c in inputs]


def _subclass(name, base):
    return type(name, (base,), {"__module__": __name__, "__doc__": "See mindspore.dataset.vision.%s." % name})


for _name in ("Rescale", "Normalize"):
    globals()[_name] = _subclass(_name, _ToFloat)
for _name in ("Resize", "RandomCrop", "CenterCrop", "RandomResizedCrop", "RandomCropDecodeResize"):
    globals()[_name] = _subclass(_name, _Sized)
for _name in ("Decode", "RandomHorizontalFlip", "RandomVerticalFlip", "RandomColorAdjust", "RandomRotation", "HorizontalFlip"):
    globals()[_name] = _subclass(_name, _Same)

__getattr__ = module_getattr(__name__)
