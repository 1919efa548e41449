"""The same transforms under an older module name."""
from mindspore.dataset.transforms import *  # noqa: F401,F403
from mindspore.dataset.transforms import Compose, OneHot, TypeCast  # noqa: F401
