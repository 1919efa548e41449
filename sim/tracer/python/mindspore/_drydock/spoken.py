"""Branches on the rank that only say something: `if get_rank() == 0: print(config)`.

Whoever takes such a branch does nothing that a network could depend on, so the question is none that tells ranks apart, and the
script need not run a second time for the ranks that stay silent. Recognised is an `if` whose test holds the question itself (not a
function that hands the answer on) and whose sides print, log or pass; what they say may read names, attributes and items, format
them, and call functions that only look. Everything else stays a question: `if rank == 0: print(net(x))` calls the network.
Needs the columns of instructions (Python 3.11); older interpreters ask as before.
"""
import ast
import builtins
import functools
import linecache
import logging
import types

_LOOKING = {builtins.str, builtins.repr, builtins.len, builtins.format, builtins.round, builtins.type, builtins.isinstance,
            builtins.min, builtins.max, builtins.sum, builtins.sorted, builtins.id, builtins.dict, builtins.list, builtins.tuple}
_PLAIN = (ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp,
          ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.List, ast.Dict, ast.keyword, ast.Starred,
          ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.expr_context)
_MISSING = object()


@functools.lru_cache(maxsize=64)
def _branches(filename):
    """All `if` statements of a file."""
    try:
        tree = ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.If))


def only_speaks(frame, known):
    """True if the question that `frame` asks just now decides only what is printed or logged.

    `known` is the caller's: answers so far, by code and instruction.
    """
    code = frame.f_code
    if not hasattr(code, "co_positions"):
        return False
    key = code, frame.f_lasti
    if key not in known:
        known[key] = _only_speaks(frame)
    return known[key]


def _only_speaks(frame):
    positions = list(frame.f_code.co_positions())
    place = tuple(positions[frame.f_lasti // 2])
    if None in place:
        return False
    for branch in _branches(frame.f_code.co_filename):
        inside = branch.lineno <= place[0] <= branch.test.end_lineno and _decides(branch.test, place, frame)
        if inside or _span(branch) == place and _is_number(branch.test):  # `if rank:` is the jump of the whole statement
            return all(_speaks(statement, frame) for statement in branch.body + branch.orelse)
    return False


def _is_number(test):
    """`rank`, `self.rank`, or `not` of it."""
    return isinstance(test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test, (ast.Name, ast.Attribute))


def _span(node):
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _decides(test, place, frame):
    """True if the expression at `place` is the test, or a part of it that nothing but `and`, `or` and `not` look at."""
    if _span(test) == place:
        return isinstance(test, (ast.Compare, ast.Name, ast.Attribute, ast.Call, ast.BinOp)) and (
            not isinstance(test, ast.Compare) or len(test.ops) == 1)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _decides(test.operand, place, frame)
    if isinstance(test, ast.BoolOp):
        for i, part in enumerate(test.values):
            if _decides(part, place, frame):  # those behind it are looked at by some ranks only
                return all(_is_plain(other, frame) for other in test.values[i + 1:])
    return False


def _speaks(statement, frame):
    if isinstance(statement, ast.Pass):
        return True
    if isinstance(statement, ast.If):
        return _is_plain(statement.test, frame) and all(_speaks(inner, frame) for inner in statement.body + statement.orelse)
    if not isinstance(statement, ast.Expr):
        return False
    call = statement.value
    if isinstance(call, ast.Constant):
        return True
    return isinstance(call, ast.Call) and _says(_resolve(call.func, frame)) and all(
        _is_plain(part, frame) for part in call.args + call.keywords)


def _is_plain(expression, frame):
    """Looks at what is there and makes texts of it."""
    if isinstance(expression, ast.Call):
        function = expression.func
        looks = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant) and function.attr in ("format", "join")
        looks = looks or _is_one_of(_resolve(function, frame), _LOOKING)
        return looks and all(_is_plain(part, frame) for part in expression.args + expression.keywords)
    return isinstance(expression, _PLAIN) and all(_is_plain(part, frame) for part in ast.iter_child_nodes(expression))


def _is_one_of(function, functions):
    return any(function is known for known in functions)


def _says(function):
    """True for what prints or logs."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, logging.Logger):
        return getattr(function, "__name__", "") in ("debug", "info", "warning", "warn", "error", "critical", "log")
    if function is builtins.print:
        return True
    return isinstance(function, types.FunctionType) and (
        function.__module__ == "pprint" and function.__name__ in ("pprint", "pp") or
        function.__module__ == "logging" and function.__name__ in ("debug", "info", "warning", "error", "critical", "log"))


def _resolve(expression, frame):
    """The function that an expression names; no code of the script runs to find out."""
    if isinstance(expression, ast.Name):
        for names in (frame.f_locals, frame.f_globals, vars(builtins)):
            if expression.id in names:
                return names[expression.id]
        return _MISSING
    if not isinstance(expression, ast.Attribute):
        return _MISSING
    owner = _resolve(expression.value, frame)
    if isinstance(owner, logging.Logger):
        return getattr(owner, expression.attr, _MISSING)
    return getattr(owner, "__dict__", {}).get(expression.attr, _MISSING) if owner is not _MISSING else _MISSING
