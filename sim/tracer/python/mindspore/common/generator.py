"""Random number generators: no numbers are drawn in a dry run."""
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor


class Generator:
    """See mindspore.Generator."""

    def __init__(self):
        self._seed = 0

    def manual_seed(self, seed):
        self._seed = seed
        return self

    def seed(self):
        return self._seed

    def initial_seed(self):
        return self._seed

    def get_state(self):
        return Tensor(shape=(1,), dtype=mstype.uint8)

    def set_state(self, state):
        return None

    def _step(self, step):
        """(seed, offset) for an operator that draws; layers of users ask for them once and keep them."""
        return Tensor(self._seed, mstype.int64), Tensor(0, mstype.int64)


default_generator = Generator()

__getattr__ = module_getattr(__name__)
