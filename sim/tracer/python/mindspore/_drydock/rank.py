"""Integers that depend on the rank, and what the script does with them.

One run of the script stands for all ranks. Whatever would make another rank take another path is
written down as a guard: an expression of the rank and what it gave. The ranks for which every guard
gives the same are covered by this run.
"""
import operator
import sys

from mindspore._drydock import frames
from mindspore._drydock.errors import Unsupported

MAX_GUARDS = 10000
guards = []        # (function of the rank, outcome)
guard_places = []  # text of the place, same order
leaked_to_text = False
_seen = set()
_speaking = {}  # which branches of the script only say something


def _note(evaluate, outcome, key):
    if key in _seen:
        return
    if len(guards) >= MAX_GUARDS:
        raise Unsupported("rank-dependence", "the script asks for its rank in too many ways",
                          "use --sim_rank_id to trace a single rank")
    _seen.add(key)
    guards.append((evaluate, outcome))
    guard_places.append(frames.place_text(frames.user_place()))


def _note_branch(evaluate, outcome, key):
    """A question whose answer a branch may be for; one that decides only what is printed is not written down."""
    if key in _seen:
        return
    frame = sys._getframe(2)
    if frames.is_user_file(frame.f_code.co_filename):
        from mindspore._drydock import spoken  # here, since it is rarely needed
        if spoken.only_speaks(frame, _speaking):
            return
    _note(evaluate, outcome, key)


def ask(text, evaluate, rank):
    """Answer of a question about the rank, written down as a guard."""
    outcome = evaluate(rank)
    _note(evaluate, outcome, (text, "asked"))
    return outcome


def covered_ranks(world_size):
    """Ranks that this run stands for: list of [first, last]."""
    ranges = []
    for rank in range(world_size):
        if all(evaluate(rank) == outcome for evaluate, outcome in guards):
            if ranges and ranges[-1][1] == rank - 1:
                ranges[-1][1] = rank
            else:
                ranges.append([rank, rank])
    return ranges


def _expression(value):
    """(function of the rank, text) of an operand, None if it is not an integer."""
    if type(value) is RankInt:
        return value._evaluate, value._text
    if type(value) in (int, bool):
        return (lambda rank: value), repr(value)
    return None


def _arithmetic(function, symbol):
    def forward(self, other):
        operand = _expression(other)
        if operand is None:
            return NotImplemented if not isinstance(other, float) else function(self._value(), other)
        return _combine(function, symbol, _expression(self), operand, self._rank)

    def backward(self, other):
        operand = _expression(other)
        if operand is None:
            return NotImplemented if not isinstance(other, float) else function(other, self._value())
        return _combine(function, symbol, operand, _expression(self), self._rank)

    return forward, backward


def _combine(function, symbol, left, right, rank):
    def evaluate(at):
        return function(left[0](at), right[0](at))

    value = evaluate(rank)
    if type(value) is not int:  # true division, negative powers
        return value
    return RankInt(evaluate, "(%s %s %s)" % (left[1], symbol, right[1]), rank)


def _comparison(function, symbol):
    def compare(self, other):
        left, right = _expression(self), _expression(other)
        if right is None:
            return function(self._value(), other) if isinstance(other, float) else NotImplemented
        outcome = function(left[0](self._rank), right[0](self._rank))
        _note_branch(lambda rank: function(left[0](rank), right[0](rank)), outcome, (left[1], symbol, right[1]))
        return outcome

    return compare


class RankInt:
    """Behaves as the integer of the traced rank; remembers how it follows from the rank.

    Not a subclass of int: CPython reads the C value of such subclasses in many places without
    asking, and a guard would be missed.
    """

    def __init__(self, evaluate, text, rank):
        self._evaluate = evaluate
        self._text = text
        self._rank = rank

    @property
    def __class__(self):
        return int

    def _value(self):
        """The number itself; from here on the run is valid only for ranks that give the same."""
        outcome = self._evaluate(self._rank)
        _note(self._evaluate, outcome, (self._text, "value"))
        return outcome

    def __str__(self):
        global leaked_to_text
        leaked_to_text = True
        return str(self._evaluate(self._rank))

    __repr__ = __str__

    def __format__(self, spec):
        global leaked_to_text
        leaked_to_text = True
        return format(self._evaluate(self._rank), spec)

    def __index__(self):
        return self._value()

    def __int__(self):
        return self._value()

    def __float__(self):
        return float(self._value())

    def __array__(self, dtype=None, copy=None):
        """In arithmetic with arrays: they hold numbers, not this."""
        import numpy  # here, since most scripts never ask
        return numpy.array(self._value(), dtype)

    def __bool__(self):
        outcome = self._evaluate(self._rank) != 0
        _note_branch(lambda rank: self._evaluate(rank) != 0, outcome, (self._text, "bool"))
        return outcome

    def __hash__(self):
        return hash(self._value())

    def __neg__(self):
        return 0 - self

    def __pos__(self):
        return self

    def __abs__(self):
        return abs(self._value())

    def __invert__(self):
        return -1 - self

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    def bit_length(self):
        return self._value().bit_length()

    def __reduce__(self):
        return int, (self._value(),)


for _name, _function, _symbol in (
        ("add", operator.add, "+"), ("sub", operator.sub, "-"), ("mul", operator.mul, "*"),
        ("floordiv", operator.floordiv, "//"), ("mod", operator.mod, "%"),
        ("truediv", operator.truediv, "/"), ("pow", operator.pow, "**"),
        ("lshift", operator.lshift, "<<"), ("rshift", operator.rshift, ">>"),
        ("and", operator.and_, "&"), ("or", operator.or_, "|"), ("xor", operator.xor, "^")):
    _forward, _backward = _arithmetic(_function, _symbol)
    setattr(RankInt, "__%s__" % _name, _forward)
    setattr(RankInt, "__r%s__" % _name, _backward)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(RankInt, "__%s__" % _name, _comparison(getattr(operator, _name), _name))


class RankText(str):
    """Text of a rank from the environment; reading it as a number or comparing it is a guard."""

    def _guard(self):
        number = self._number
        _note(number._evaluate, number._evaluate(number._rank), (number._text, "value"))

    def __int__(self):
        self._guard()
        return int(str.__str__(self))

    def __eq__(self, other):
        if isinstance(other, str) and other.lstrip("-").isdigit():
            return bool(self._number == int(other))
        return str.__eq__(self, other)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        self._guard()
        return str.__hash__(self)


def rank_int(rank, evaluate=None, text="rank"):
    return RankInt(evaluate or (lambda at: at), text, rank)


def rank_text(number):
    text = RankText(str(number._evaluate(number._rank)))
    text._number = number
    return text
