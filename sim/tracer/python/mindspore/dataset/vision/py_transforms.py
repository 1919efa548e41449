"""The same transforms under an older module name."""
from mindspore.dataset.vision import *  # noqa: F401,F403
