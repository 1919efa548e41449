"""Distributions as compositions of operators: densities, moments, samples.

Each is a Cell: `normal("log_prob", x)` in a construct() calls a method by its name, as in the original.
Example: log_prob(x) of Normal(mean, sd) records -(x - mean)^2 / (2 sd^2) - log(sd) - log(2 pi) / 2.
"""
import math

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.lazy import module_getattr
from mindspore.common import dtype as mstype
from mindspore.common.tensor import Tensor
from mindspore.nn.cell import Cell


def _f():
    from mindspore.ops import functional
    return functional


class Distribution(Cell):
    """Parameters are given when it is made or with each call."""

    _parameters = ()

    def __init__(self, *values, seed=None, dtype=mstype.float32, name=None):
        super().__init__()
        self.dtype = mstype.dtype_of(dtype)
        self._values = [None if value is None else value if isinstance(value, Tensor) else Tensor(value, self.dtype) for value in values]

    def construct(self, name, *args, **kwargs):
        method = getattr(self, name, None)
        if method is None or name.startswith("_"):
            raise user_error(ValueError, "Distribution:method", "'%s' has no function '%s'" % (type(self).__name__, name))
        return method(*args, **kwargs)

    def _of(self, given):
        """The parameters of a call: those given, else those of the distribution."""
        given = list(given) + [None] * (len(self._parameters) - len(given))
        found = [mine if value is None else value for value, mine in zip(given, self._values)]
        if any(value is None for value in found):
            raise user_error(ValueError, "Distribution:parameters", "%s needs %s" % (type(self).__name__, " and ".join(self._parameters)))
        return found

    def prob(self, value, *parameters):
        return _f().exp(self.log_prob(value, *parameters))

    def log_cdf(self, value, *parameters):
        return _f().log(self.cdf(value, *parameters))

    def survival_function(self, value, *parameters):
        return 1.0 - self.cdf(value, *parameters)

    def log_survival(self, value, *parameters):
        return _f().log(self.survival_function(value, *parameters))

    def var(self, *parameters):
        return _f().square(self.sd(*parameters))

    def cross_entropy(self, dist, *parameters):
        return self.entropy() + self.kl_loss(dist, *parameters)

    def kl_loss(self, dist, *parameters):
        raise Unsupported("mindspore.nn.probability.distribution.%s.kl_loss" % type(self).__name__)

    def _drawn(self, shape, like):
        """Uniform numbers of a shape in front of that of the parameters."""
        return _f().rand(*(tuple(shape) + like.shape), dtype=self.dtype) if tuple(shape) + like.shape else _f().rand(1, dtype=self.dtype)


class Normal(Distribution):
    """See mindspore.nn.probability.distribution.Normal."""

    _parameters = ("mean", "sd")

    def __init__(self, mean=None, sd=None, seed=None, dtype=mstype.float32, name="Normal"):
        super().__init__(mean, sd, seed=seed, dtype=dtype, name=name)

    def mean(self, *parameters):
        return self._of(parameters)[0]

    mode = mean

    def sd(self, *parameters):
        return self._of(parameters)[1]

    def log_prob(self, value, *parameters):
        F, (mean, sd) = _f(), self._of(parameters)
        return -F.square(value - mean) / (2.0 * F.square(sd)) - F.log(sd) - math.log(2 * math.pi) / 2

    def cdf(self, value, *parameters):
        mean, sd = self._of(parameters)
        return 0.5 * (1.0 + _f().erf((value - mean) / (sd * math.sqrt(2.0))))

    def entropy(self, *parameters):
        return _f().log(self.sd(*parameters)) + 0.5 * (1 + math.log(2 * math.pi))

    def kl_loss(self, dist, mean_b, sd_b, *parameters):
        F, (mean, sd) = _f(), self._of(parameters)
        return F.square(mean - mean_b) / (2.0 * F.square(sd_b)) + F.square(sd / sd_b) / 2.0 - 0.5 - F.log(sd / sd_b)

    def sample(self, shape=(), *parameters):
        mean, sd = self._of(parameters)
        return _f().randn(*(tuple(shape) + mean.shape or (1,)), dtype=self.dtype) * sd + mean


class Uniform(Distribution):
    """See mindspore.nn.probability.distribution.Uniform."""

    _parameters = ("low", "high")

    def __init__(self, low=None, high=None, seed=None, dtype=mstype.float32, name="Uniform"):
        super().__init__(low, high, seed=seed, dtype=dtype, name=name)

    def mean(self, *parameters):
        low, high = self._of(parameters)
        return (low + high) / 2.0

    def sd(self, *parameters):
        low, high = self._of(parameters)
        return (high - low) / math.sqrt(12.0)

    def prob(self, value, *parameters):
        F, (low, high) = _f(), self._of(parameters)
        inside = F.cast(F.logical_and(value >= low, value <= high), self.dtype)
        return inside / (high - low)

    def log_prob(self, value, *parameters):
        return _f().log(self.prob(value, *parameters))

    def cdf(self, value, *parameters):
        low, high = self._of(parameters)
        return _f().clamp((value - low) / (high - low), 0.0, 1.0)

    def entropy(self, *parameters):
        low, high = self._of(parameters)
        return _f().log(high - low)

    def kl_loss(self, dist, low_b, high_b, *parameters):
        low, high = self._of(parameters)
        return _f().log((high_b - low_b) / (high - low))

    def sample(self, shape=(), *parameters):
        low, high = self._of(parameters)
        return self._drawn(shape, low) * (high - low) + low


class Exponential(Distribution):
    """See mindspore.nn.probability.distribution.Exponential."""

    _parameters = ("rate",)

    def __init__(self, rate=None, seed=None, dtype=mstype.float32, name="Exponential"):
        super().__init__(rate, seed=seed, dtype=dtype, name=name)

    def mean(self, *parameters):
        return 1.0 / self._of(parameters)[0]

    sd = mean

    def log_prob(self, value, *parameters):
        rate, = self._of(parameters)
        return _f().log(rate) - rate * value

    def cdf(self, value, *parameters):
        return 1.0 - _f().exp(-(self._of(parameters)[0] * value))

    def entropy(self, *parameters):
        return 1.0 - _f().log(self._of(parameters)[0])

    def kl_loss(self, dist, rate_b, *parameters):
        rate, = self._of(parameters)
        return _f().log(rate) - _f().log(rate_b) + rate_b / rate - 1.0

    def sample(self, shape=(), *parameters):
        rate, = self._of(parameters)
        return -(_f().log(self._drawn(shape, rate)) / rate)


class Gumbel(Distribution):
    """See mindspore.nn.probability.distribution.Gumbel."""

    _parameters = ("loc", "scale")

    def __init__(self, loc, scale, seed=0, dtype=mstype.float32, name="Gumbel"):
        super().__init__(loc, scale, seed=seed, dtype=dtype, name=name)
        self.loc, self.scale = self._values

    def mean(self):
        return self.loc + self.scale * 0.5772156649015329

    def sd(self):
        return self.scale * (math.pi / math.sqrt(6.0))

    def log_prob(self, value):
        place = (value - self.loc) / self.scale
        return -(place + _f().exp(-place)) - _f().log(self.scale)

    def cdf(self, value):
        return _f().exp(-_f().exp(-((value - self.loc) / self.scale)))

    def entropy(self):
        return 1.5772156649015329 + _f().log(self.scale)

    def sample(self, shape=()):
        return self.loc - self.scale * _f().log(-_f().log(self._drawn(shape, self.loc)))


class Categorical(Distribution):
    """See mindspore.nn.probability.distribution.Categorical: classes by their probabilities, the last dimension."""

    _parameters = ("probs",)

    def __init__(self, probs=None, seed=None, dtype=mstype.int32, name="Categorical"):
        super().__init__(seed=seed, dtype=mstype.float32, name=name)
        self._values = [None if probs is None else probs if isinstance(probs, Tensor) else Tensor(probs, mstype.float32)]
        self.class_dtype = mstype.dtype_of(dtype)

    def mean(self, *parameters):
        probs, = self._of(parameters)
        return _f().reduce_sum(probs * _f().arange(probs.shape[-1], dtype=probs.dtype), -1)

    def mode(self, *parameters):
        return _f().argmax(self._of(parameters)[0], -1)

    def sd(self, *parameters):
        return _f().sqrt(self.var(*parameters))

    def var(self, *parameters):
        probs, = self._of(parameters)
        classes = _f().arange(probs.shape[-1], dtype=probs.dtype)
        return _f().reduce_sum(probs * _f().square(classes), -1) - _f().square(self.mean(*parameters))

    def log_prob(self, value, *parameters):
        F, (probs,) = _f(), self._of(parameters)
        value = F.cast(value, mstype.int32)
        shape = value.shape + probs.shape[-1:]
        chosen = F.gather_d(F.broadcast_to(F.log(probs), shape), len(shape) - 1, F.expand_dims(value, -1))
        return F.squeeze(chosen, -1)

    def entropy(self, *parameters):
        probs, = self._of(parameters)
        return -_f().reduce_sum(probs * _f().log(probs), -1)

    def kl_loss(self, dist, probs_b, *parameters):
        probs, = self._of(parameters)
        return _f().reduce_sum(probs * (_f().log(probs) - _f().log(probs_b)), -1)

    def sample(self, shape=(), *parameters):
        from mindspore.ops import _unruled
        probs, = self._of(parameters)
        return _unruled.record("Multinomial", [probs], [(tuple(shape) + probs.shape[:-1], self.class_dtype)])


__getattr__ = module_getattr("mindspore.nn.probability")
