"""Which tests of a file assert values: the second column of the report.

A test that only compiles says little, one that compares what the compiler made with numbers written in the test says much: strategies, layouts,
groups, counts of operators. A function asserts values if it, or a function or method of the same file that it calls, has an assert statement, raises
an AssertionError, or calls one of the suite's own checkers (check_..., validate_...). Expected exceptions are category b and no values.
Example: `assert validator.check_parameter_shape('w', [8, 64])` does; `compile_net(net)` where compile_net only compiles does not.
"""
import ast

_CHECKERS = ("check_", "validate_", "compare_")


def _called_names(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            target = node.func
            yield target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""


def _raises_assertion(node):
    return isinstance(node, ast.Raise) and node.exc is not None and "AssertionError" in ast.dump(node.exc)


def _asserts_itself(function):
    """An assert of a constant (`assert True`) says nothing."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant) or _raises_assertion(node):
            return True
    return any(name.startswith(_CHECKERS) for name in _called_names(function))


def asserting_functions(source):
    """Names of the functions and methods of a source text that assert values, by themselves or through others of the same source."""
    functions = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            functions.setdefault(node.name, []).append(node)
    found = {name for name, nodes in functions.items() if any(map(_asserts_itself, nodes))}
    calls = {name: {called for node in nodes for called in _called_names(node)} & functions.keys() for name, nodes in functions.items()}
    while True:
        more = {name for name in functions if name not in found and calls[name] & found}
        if not more:
            return found
        found |= more
