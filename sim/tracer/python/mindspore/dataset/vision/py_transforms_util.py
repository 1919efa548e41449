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

__getattr__ = module_getattr(__name__)
