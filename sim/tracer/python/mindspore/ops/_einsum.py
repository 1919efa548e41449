"""einsum: sums of products, two operands at a time.

Of each pair, letters that nobody needs any more are summed first; letters that both have and that stay are the batch, letters
that both have and that go are contracted. Example: "bij,bjk->bik" is one BatchMatMul; "bhid,bhjd->bhij" too.
"""
from mindspore._drydock.errors import user_error
from mindspore._recording import values


def _terms(equation, operands):
    """Letters of each operand and of the result, without spaces; "..." becomes letters of its own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise user_error(ValueError, "einsum:operands", "'%s' has %d terms, but einsum() got %d operands"
                         % (equation, len(terms), len(operands)))
    hidden = 0
    for position, (term, operand) in enumerate(zip(terms, operands)):
        if "..." in term:
            count = operand.ndim - len(term.replace("...", ""))
            hidden = max(hidden, count)
            terms[position] = term.replace("...", "".join(chr(0x3b1 + i) for i in range(count)))
        if len(terms[position]) != operand.ndim:
            raise user_error(ValueError, "einsum:rank", "term '%s' of '%s' has %d letters, but its operand %d dimensions"
                             % (term, equation, len(terms[position]), operand.ndim))
    if not arrow:
        letters = sorted("".join(terms))
        right = "".join(letter for letter in letters if letters.count(letter) == 1)
    return terms, right.replace("...", "".join(chr(0x3b1 + i) for i in range(hidden)))


def _arranged(tensor, term, wanted):
    from mindspore.ops import functional as F
    order = tuple(term.index(letter) for letter in wanted)
    return tensor if order == tuple(range(len(order))) else F.transpose(tensor, order)


def _without(tensor, term, kept):
    """Sums over letters that nobody needs."""
    from mindspore.ops import functional as F
    gone = tuple(dim for dim, letter in enumerate(term) if letter not in kept)
    return (F.reduce_sum(tensor, gone), "".join(letter for letter in term if letter in kept)) if gone else (tensor, term)


def _product(first, second, rest):
    """One product; `rest` holds the letters that are needed behind it."""
    from mindspore.ops import functional as F
    (a, s), (b, t) = first, second
    a, s = _without(a, s, set(t) | rest)
    b, t = _without(b, t, set(s) | rest)
    extents = dict(zip(s, a.shape))
    extents.update(zip(t, b.shape))
    batch = "".join(letter for letter in s if letter in t and letter in rest)
    summed = "".join(letter for letter in s if letter in t and letter not in rest)
    rows = "".join(letter for letter in s if letter not in t)
    columns = "".join(letter for letter in t if letter not in s)
    size = {part: values.count([extents[letter] for letter in part]) for part in (batch, summed, rows, columns)}
    a = F.reshape(_arranged(a, s, batch + rows + summed), (size[batch], size[rows], size[summed]))
    b = F.reshape(_arranged(b, t, batch + summed + columns), (size[batch], size[summed], size[columns]))
    term = batch + rows + columns
    return F.reshape(F.bmm(a, b), tuple(extents[letter] for letter in term)), term


def einsum(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    terms, result = _terms(equation, operands)
    done = (operands[0], terms[0])
    for position in range(1, len(operands)):
        rest = set(result) | set("".join(terms[position + 1:]))
        done = _product(done, (operands[position], terms[position]), rest)
    tensor, term = _without(*done, set(result))
    return _arranged(tensor, term, result)
