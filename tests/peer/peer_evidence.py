"""What is seen while one file of the suite runs: exceptions, compiles, strategies, checks.

It judges nothing; peer_judge.py does that from what is written down here.
"""
from __future__ import annotations

import collections
import functools
import importlib
import json
import re
import subprocess
import sys
import types

from peer_errors import describe_exception, in_suite


class EventLog:
    """One JSON object per line, flushed at once: a dying child loses nothing."""

    def __init__(self, path):
        self._stream = open(path, "a", encoding="utf-8")

    def write(self, event, **fields):
        fields["ev"] = event
        self._stream.write(json.dumps(fields, sort_keys=True) + "\n")
        self._stream.flush()


class Hook:
    """View of `mindspore._drydock`, the stand-in's reporting hook."""

    def __init__(self):
        self.module = None
        self.unsupported = None
        try:
            module = importlib.import_module("mindspore._drydock")
        except Exception:  # pylint: disable=broad-except
            return
        # A stand-in that invents modules on import must not seem to have a hook.
        if isinstance(module, types.ModuleType) and callable(vars(module).get("last_compile")):
            self.module = module
            candidate = vars(module).get("Unsupported")
            if isinstance(candidate, type) and issubclass(candidate, BaseException):
                self.unsupported = candidate

    @property
    def present(self):
        return self.module is not None

    def last_compile(self):
        """Returns the last compile record as plain data, or None."""
        if self.module is None:
            return None
        try:
            record = self.module.last_compile()
        except Exception:  # pylint: disable=broad-except
            return None
        if not isinstance(record, dict) or not isinstance(record.get("serial"), int):
            return None
        nodes = record.get("nodes")
        return {
            "serial": record["serial"],
            "nodes": nodes if isinstance(nodes, int) and not isinstance(nodes, bool) else 0,
            "without_rule": sorted({str(x) for x in record.get("without_rule") or ()}),
            "redistributions": record.get("redistributions"),
            "ops": sorted({str(x) for x in record["ops"]}) if record.get("ops") is not None else None,
            "violations": [str(x) for x in record.get("violations") or ()],
        }


def is_plain(value, budget=None):
    """True if value consists of built-in data only (no stand-in objects)."""
    if budget is None:
        budget = [200000]
    budget[0] -= 1
    if budget[0] < 0:
        return True
    kind = type(value)
    if kind in (str, int, float, bool, type(None)):
        return True
    if kind in (list, tuple):
        return all(is_plain(x, budget) for x in value)
    if kind in (dict, collections.OrderedDict):
        return all(is_plain(k, budget) and is_plain(v, budget) for k, v in value.items())
    return False


def is_strategy(value):
    """True for a list of per-tensor strategies: nested lists of positive ints."""
    def positive(x):
        if type(x) in (list, tuple):
            return all(positive(y) for y in x)
        return type(x) is int and x > 0
    return type(value) in (list, tuple) and all(
        type(x) in (list, tuple) and positive(x) for x in value)


class Evidence:
    """What was observed while one test instance ran."""

    def __init__(self, serial):
        self.first_serial = serial
        self.raises = []
        self.compiles = {}
        self.strategies = []
        self.patterns = {}
        self.validators = []
        self.queries = []
        self.asserts = 0
        self.checks = 0

    def as_dict(self):
        return {
            "raises": self.raises,
            "compiles": [self.compiles[k] for k in sorted(self.compiles)],
            "strategies": self.strategies,
            "patterns": self.patterns,
            "validators": self.validators,
            "queries": self.queries,
            "asserts": self.asserts,
            "checks": self.checks,
        }


class Instruments:
    """Wraps what tests look at, so that vacuous passes can be told apart."""

    def __init__(self, hook, suite_dir):
        self.hook = hook
        self.suite_dir = suite_dir
        self.current = None
        self._wrapped = set()

    def begin(self):
        record = self.hook.last_compile()
        self.current = Evidence(record["serial"] if record else 0)
        self.wrap_executor()
        self.wrap_validators()

    def end(self):
        self.note_compile()
        evidence, self.current = self.current, None
        return evidence

    def note_compile(self):
        record = self.hook.last_compile()
        if record and self.current is not None and record["serial"] > self.current.first_serial:
            self.current.compiles[record["serial"]] = record

    # -- pytest.raises -------------------------------------------------------
    def wrap_raises(self, pytest):
        original = pytest.raises
        instruments = self

        class Watched:
            """Context manager around the original one that records the exception."""

            def __init__(self, inner):
                self._inner = inner

            def __enter__(self):
                return self._inner.__enter__()

            def __exit__(self, kind, value, trace):
                if value is not None and instruments.current is not None:
                    instruments.current.raises.append(
                        describe_exception(value, instruments.hook, instruments.suite_dir))
                return self._inner.__exit__(kind, value, trace)

        def raises(expected_exception, *args, **kwargs):
            if args:
                with raises(expected_exception) as info:
                    args[0](*args[1:], **kwargs)
                return info
            return Watched(original(expected_exception, **kwargs))

        pytest.raises = raises

    # -- re.search and friends, only when a suite file calls them ---------------
    def wrap_re(self):
        for name in ("search", "match", "fullmatch"):
            original = getattr(re, name)

            def watched(pattern, string, flags=0, _original=original):
                result = _original(pattern, string, flags)
                current = self.current
                if current is not None and in_suite(
                        sys._getframe(1).f_code.co_filename, self.suite_dir):
                    key = getattr(pattern, "pattern", pattern)
                    current.patterns[key] = current.patterns.get(key, False) or result is not None
                return result

            setattr(re, name, watched)

    # -- subprocess: a shell look-up that succeeds is a check (grep fails on none) -
    def wrap_subprocess(self):
        original = subprocess.check_output

        @functools.wraps(original)
        def watched(*args, **kwargs):
            result = original(*args, **kwargs)
            if self.current is not None and in_suite(
                    sys._getframe(1).f_code.co_filename, self.suite_dir):
                self.current.checks += 1
            return result

        subprocess.check_output = watched

    # -- the executor ---------------------------------------------------------
    def wrap_executor(self):
        api = sys.modules.get("mindspore.common.api")
        executor = getattr(api, "_cell_graph_executor", None) if api is not None else None
        if executor is None or id(executor) in self._wrapped:
            return
        self._wrapped.add(id(executor))
        self._wrap(executor, "compile", lambda result: self.note_compile())
        self._wrap(executor, "_get_shard_strategy", self._note_strategy)
        for name in ("_get_allreduce_fusion", "_get_num_parallel_ops"):
            self._wrap(executor, name, self._note_query)
        inner = getattr(executor, "_graph_executor", None)
        if inner is not None:
            self._wrap(inner, "get_strategy", self._note_strategy)
            for name in ("get_parallel_graph_info", "get_parameter_layout",
                         "get_allreduce_fusion", "get_num_parallel_ops"):
                self._wrap(inner, name, self._note_query)

    @staticmethod
    def _wrap(owner, name, note):
        kind = type(owner)
        target = kind if callable(vars(kind).get(name)) else owner
        try:
            original = getattr(target, name)
        except Exception:  # pylint: disable=broad-except
            return
        if not callable(original):
            return

        def watched(*args, **kwargs):
            result = original(*args, **kwargs)
            note(result)
            return result

        watched.__name__ = name
        try:
            setattr(target, name, watched)
        except Exception:  # pylint: disable=broad-except
            pass

    def _note_strategy(self, result):
        if self.current is None:
            return
        plain = is_plain(result) and isinstance(result, dict)
        self.current.strategies.append({
            "size": len(result) if plain else 0,
            "plain": plain,
            "well_formed": plain and all(is_strategy(v) for v in result.values()),
        })

    def _note_query(self, result):
        if self.current is not None:
            empty = isinstance(result, (dict, list, tuple)) and not result
            self.current.queries.append({"plain": is_plain(result), "empty": empty})

    # -- the suite's validator class ---------------------------------------------
    def wrap_validators(self):
        for name in ("parallel.utils.utils", "tests.ut.python.parallel.utils.utils"):
            kind = getattr(sys.modules.get(name), "ParallelValidator", None)
            if not isinstance(kind, type) or id(kind) in self._wrapped:
                continue
            self._wrapped.add(id(kind))
            original = kind.__init__

            def watched(this, *args, _original=original, **kwargs):
                _original(this, *args, **kwargs)
                if self.current is None:
                    return
                parts = [getattr(this, "_parameter_layout_dict", None),
                         getattr(this, "_graph_info_dict", None)]
                plain = all(isinstance(x, dict) and is_plain(x) for x in parts)
                self.current.validators.append({
                    "plain": plain, "empty": not (plain and any(parts))})

            kind.__init__ = watched
