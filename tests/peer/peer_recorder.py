"""The pytest plugin that runs in the interpreter of a file of the suite and writes down what every test did."""
from __future__ import annotations

import ast
import os
import signal
import time

from peer_errors import describe_exception, exception_chain
from peer_evidence import Instruments


class TestTimeout(BaseException):
    """Raised by the alarm; not an Exception, so that no test can catch it."""


def literal_patterns(path):
    """(class or None, function) -> literal patterns given to re.search/match there."""
    table = {}
    try:
        with open(path, encoding="utf-8") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return table

    def collect(owner, function):
        found = set()
        for node in ast.walk(function):
            if (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                    and node.func.attr in ("search", "match", "fullmatch")
                    and isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
                    and node.args and isinstance(node.args[0], ast.Constant)
                    and isinstance(node.args[0].value, str)):
                found.add(node.args[0].value)
        table[(owner, function.name)] = sorted(found)

    for item in tree.body:
        if isinstance(item, ast.FunctionDef):
            collect(None, item)
        elif isinstance(item, ast.ClassDef):
            for sub in item.body:
                if isinstance(sub, ast.FunctionDef):
                    collect(item.name, sub)
    return table


class Recorder:
    """The pytest plugin of the child."""

    def __init__(self, config, log, hook):
        self.log = log
        self.hook = hook
        self.suite = config["suite"]
        self.timeout = config["timeout"]
        self.done = set(config["done"])
        self.only = set(config["only"]) if config["only"] is not None else None
        self.instruments = Instruments(hook, self.suite)
        self.patterns = literal_patterns(os.path.join(self.suite, config["file"]))
        self.outcome = None
        self.error = None
        self.started = 0.0

    @staticmethod
    def key(item):
        owner = item.cls.__name__ if getattr(item, "cls", None) else None
        function = getattr(item, "originalname", None) or item.function.__name__
        return owner, function

    # -- selection ------------------------------------------------------------
    def pytest_collection_modifyitems(self, config, items):
        keep, drop = [], []
        for item in items:
            owner, function = self.key(item)
            label = function if owner is None else owner + "::" + function
            wanted = (self.only is None or label in self.only) and item.name not in self.done
            (keep if wanted else drop).append(item)
        items[:] = keep
        if drop:
            config.hook.pytest_deselected(items=drop)

    def pytest_exception_interact(self, node, call, report):
        if getattr(report, "when", None) in (None, "collect"):  # the file did not load
            fact = describe_exception(call.excinfo.value, self.hook, self.suite)
            if fact["type"] == "CollectError":
                chain = exception_chain(call.excinfo.value)
                lines = str(call.excinfo.value).strip().splitlines()
                fact["text"] = (str(chain[1]) if len(chain) > 1 else lines[-1] if lines else "")[:300]
            self.log.write("collect-error", error=fact)

    # -- one test ---------------------------------------------------------------
    def pytest_runtest_setup(self, item):
        owner, function = self.key(item)
        self.outcome, self.error, self.started = "passed", None, time.monotonic()
        self.log.write("begin", id=item.name, cls=owner, function=function)
        self.instruments.begin()

    def pytest_assertion_pass(self, item, lineno, orig, expl):
        if self.instruments.current is not None:
            self.instruments.current.asserts += 1

    def observe(self, call, report):
        """Called for each phase of a test once its report exists."""
        if report.skipped:
            self.outcome = "skipped"
        elif report.failed:
            if call.excinfo is not None and isinstance(call.excinfo.value, TestTimeout):
                self.outcome = "timeout"
            elif self.outcome != "timeout":
                self.outcome = "failed"
            if call.excinfo is not None and self.error is None:
                self.error = describe_exception(call.excinfo.value, self.hook, self.suite)
                self.error["when"] = report.when

    def finish(self, item):
        owner, function = self.key(item)
        evidence = self.instruments.end()
        self.log.write(
            "end", id=item.name, cls=owner, function=function, raw=self.outcome,
            error=self.error, seconds=round(time.monotonic() - self.started, 3),
            evidence=evidence.as_dict() if evidence else None,
            literal_patterns=self.patterns.get((owner, function), []))


def make_plugin(recorder, pytest):
    """Attaches the hook wrappers that need pytest's decorators."""

    class Plugin:
        """Delegates to the recorder."""

        pytest_collection_modifyitems = staticmethod(recorder.pytest_collection_modifyitems)
        pytest_exception_interact = staticmethod(recorder.pytest_exception_interact)
        pytest_assertion_pass = staticmethod(recorder.pytest_assertion_pass)

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_setup(self, item):
            recorder.pytest_runtest_setup(item)

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_call(self, item):
            signal.setitimer(signal.ITIMER_REAL, recorder.timeout)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(self, item, call):
            result = yield
            report = result.get_result()
            recorder.observe(call, report)
            if report.when == "teardown":
                recorder.finish(item)

    return Plugin()
