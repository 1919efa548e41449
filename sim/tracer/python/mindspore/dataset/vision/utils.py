"""Names of image transforms."""
from mindspore.dataset.vision import Inter  # noqa: F401
