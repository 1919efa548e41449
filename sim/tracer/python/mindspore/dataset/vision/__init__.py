"""Transforms of images."""
import enum

from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.dataset.mapping import Operation
from mindspore.dataset.rows import Column


class Inter:
    """Interpolation modes."""

    NEAREST, BILINEAR, BICUBIC, AREA, LINEAR, CUBIC, PILCUBIC, ANTIALIAS = range(8)


class AutoAugmentPolicy(str, enum.Enum):
    """Whose policy AutoAugment follows."""

    IMAGENET, CIFAR10, SVHN = "imagenet", "cifar10", "svhn"


class Border(str, enum.Enum):
    """What is beside an image."""

    CONSTANT, EDGE, REFLECT, SYMMETRIC = "constant", "edge", "reflect", "symmetric"


class ImageBatchFormat(enum.IntEnum):
    """Where the channels of a batch are."""

    NHWC, NCHW = 0, 1


class ImageReadMode(enum.IntEnum):
    """Channels of an image that is read."""

    UNCHANGED, GRAYSCALE, COLOR = 0, 1, 2


class SliceMode(enum.IntEnum):
    """What happens to the rest of an image that is no multiple of its patches."""

    PAD, DROP = 0, 1


ConvertMode = enum.IntEnum("ConvertMode", [("COLOR_" + word, number) for number, words in enumerate((
    "BGR2BGRA RGB2RGBA", "BGRA2BGR RGBA2RGB", "BGR2RGBA RGB2BGRA", "RGBA2BGR BGRA2RGB", "BGR2RGB RGB2BGR", "BGRA2RGBA RGBA2BGRA",
    "BGR2GRAY", "RGB2GRAY", "GRAY2BGR GRAY2RGB", "GRAY2BGRA GRAY2RGBA", "BGRA2GRAY", "RGBA2GRAY")) for word in words.split()], module=__name__)


class ConvertColor(Operation):
    """Other channels: their number is that of the letters behind the 2; grey images have no dimension of channels."""

    def __init__(self, convert_mode):
        if not isinstance(convert_mode, ConvertMode):
            raise user_error(TypeError, "ConvertColor:mode", "convert_mode must be a ConvertMode, not %r" % (convert_mode,))
        target = convert_mode.name.partition("2")[2]
        self._channels = () if target == "GRAY" else (len(target),)

    def columns(self, inputs):
        return [Column(c.shape[:2] + self._channels, c.dtype) for c in inputs]


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


class Grayscale(Operation):
    """One channel, or as many equal ones."""

    def __init__(self, num_output_channels=1):
        self._channels = num_output_channels

    def columns(self, inputs):
        return [Column(c.shape[:2] + ((self._channels,) if self._channels > 1 else ()), c.dtype) for c in inputs]


class NormalizePad(Operation):
    """Normalised, with a fourth channel of zeros."""

    def __init__(self, mean, std, dtype="float32", is_hwc=True):
        self._dtype, self._is_hwc = mstype.dtype_of(dtype), is_hwc

    def columns(self, inputs):
        return [Column(c.shape[:-1] + (c.shape[-1] + 1,) if self._is_hwc else (c.shape[0] + 1,) + c.shape[1:], self._dtype)
                for c in inputs]


class Crop(Operation):
    """A part of the image."""

    def __init__(self, coordinates, size):
        self._size = (size, size) if isinstance(size, int) else tuple(size)

    def columns(self, inputs):
        return [Column(self._size + c.shape[2:], c.dtype) for c in inputs]


class ResizedCrop(Crop):
    """A part of the image, in another size."""

    def __init__(self, top, left, height, width, size, interpolation=Inter.BILINEAR):
        super().__init__((top, left), size)


class ToType(Operation):
    """Another element type."""

    def __init__(self, data_type):
        self._dtype = mstype.dtype_of(data_type)

    def columns(self, inputs):
        return [Column(c.shape, self._dtype) for c in inputs]


class FiveCrop(Operation):
    """The corners and the middle, one column each."""

    _count = 5

    def __init__(self, size, use_vertical_flip=False):
        self._size = (size, size) if isinstance(size, int) else tuple(size)

    def columns(self, inputs):
        return [Column(self._size + c.shape[2:], c.dtype) for c in inputs for _ in range(self._count)]


class TenCrop(FiveCrop):
    """Those of FiveCrop, and their mirror images."""

    _count = 10


class _OfBatch(Operation):
    """Mixes the images of a batch; labels become shares."""

    def __init__(self, *args, **kwargs):
        return None

    def columns(self, inputs):
        return [inputs[0]] + [Column(c.shape, mstype.float32) for c in inputs[1:]]


class MixUpBatch(_OfBatch):
    """See mindspore.dataset.vision.MixUpBatch."""


class CutMixBatch(_OfBatch):
    """See mindspore.dataset.vision.CutMixBatch."""


class _WithBoxes(_Sized):
    """An image of another size, and the boxes in it."""

    def columns(self, inputs):
        return super().columns(inputs[:1]) + list(inputs[1:])


def _subclass(name, base):
    return type(name, (base,), {"__module__": __name__, "__doc__": "See mindspore.dataset.vision.%s." % name})


for _name in ("Rescale", "Normalize", "LinearTransformation"):
    globals()[_name] = _subclass(_name, _ToFloat)
for _name in ("Resize", "RandomCrop", "CenterCrop", "RandomResizedCrop", "RandomCropDecodeResize", "RandomResize",
              "PadToSize"):
    globals()[_name] = _subclass(_name, _Sized)
for _name in ("Decode", "RandomHorizontalFlip", "RandomVerticalFlip", "RandomColorAdjust", "RandomRotation", "HorizontalFlip",
              "AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "Affine",
              "AutoAugment", "AutoContrast", "BoundingBoxAugment", "CutOut", "Equalize", "Erase", "GaussianBlur", "HsvToRgb", "Invert",
              "MixUp", "Perspective", "Posterize", "RandAugment", "RandomAdjustSharpness", "RandomAffine", "RandomAutoContrast",
              "RandomColor", "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomInvert", "RandomLighting",
              "RandomPerspective", "RandomPosterize", "RandomSelectSubpolicy", "RandomSharpness", "RandomSolarize", "RgbToHsv",
              "Rotate", "Solarize", "ToNumpy", "ToPIL", "TrivialAugmentWide", "UniformAugment", "VerticalFlip"):
    globals()[_name] = _subclass(_name, _Same)

for _name in ("RandomHorizontalFlipWithBBox", "RandomVerticalFlipWithBBox"):
    globals()[_name] = _subclass(_name, _Same)
for _name in ("RandomCropWithBBox", "RandomResizedCropWithBBox", "RandomResizeWithBBox", "ResizeWithBBox"):
    globals()[_name] = _subclass(_name, _WithBoxes)

__getattr__ = module_getattr(__name__)
