"""Helpers of image transforms that scripts call by hand; images keep their form."""
from mindspore._drydock.lazy import module_getattr

augment_error_message = "img should be PIL image. Got {}. Use Decode() for encoded data or ToPIL() for decoded data."


def is_pil(img):
    return type(img).__module__.startswith("PIL.")


def is_numpy(img):
    return type(img).__module__.split(".")[0] == "numpy"


def _same(img, *args, **kwargs):
    return img


adjust_brightness = adjust_contrast = adjust_saturation = adjust_hue = rotate = _same

def random_crop(img, size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=None):
    """A part of an array of numpy (height, width, channels)."""
    height, width = (size, size) if isinstance(size, int) else size
    return img[:height, :width] if is_numpy(img) else img.crop((0, 0, width, height))


def to_tensor(img, output_type=None):
    """Channels first, numbers of 32 bits."""
    import numpy
    array = numpy.asarray(img, output_type or numpy.float32)
    return array[None] if array.ndim == 2 else array.transpose(2, 0, 1)


__getattr__ = module_getattr(__name__)
