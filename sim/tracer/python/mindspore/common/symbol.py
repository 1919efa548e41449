"""Symbol: what is known about an extent that the script leaves open."""
from mindspore._drydock.errors import user_error
from mindspore._drydock.lazy import module_getattr


EXAMPLE = 7  # stands for an extent of which nothing is known: no usual cut divides it


class Symbol:
    """See mindspore.Symbol."""

    def __init__(self, max=0, min=1, divisor=1, remainder=0, unique=False, **kwargs):
        for name, value in (("max", max), ("min", min), ("divisor", divisor), ("remainder", remainder)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise user_error(TypeError, "Symbol:%s-type" % name, "%s of a Symbol must be a whole number, not %r"
                                 % (name, value))
        if min <= 0 or divisor <= 0 or remainder < 0 or remainder >= divisor or (max and max < min):
            raise user_error(ValueError, "Symbol:range",
                             "a Symbol needs min >= 1, divisor >= 1, 0 <= remainder < divisor and max >= min")
        if not isinstance(unique, bool):
            raise user_error(TypeError, "Symbol:unique-type", "unique of a Symbol must be True or False")
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique

    def example(self):
        """An extent that the symbol allows, divisible by nothing small that it does not promise."""
        low = max(self.min, EXAMPLE * self.divisor)
        extent = low + (self.remainder - low) % self.divisor
        if self.max and extent > self.max:
            return self.min + (self.remainder - self.min) % self.divisor
        return extent

    def allows(self, extent):
        return (self.min <= extent and (not self.max or extent <= self.max)
                and extent % self.divisor == self.remainder % self.divisor)

    def __repr__(self):
        return "Symbol(max=%d, min=%d, divisor=%d, remainder=%d)" % (self.max, self.min, self.divisor, self.remainder)


__getattr__ = module_getattr(__name__)
