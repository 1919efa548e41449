"""Strategies of operators that one compile writes to a file and another takes from it.

The file has the JSON form of strategy files, keyed by the full names of the operators. Source: docs/reports.md.
"""
import json
import os

from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import RANKS_PER_NODE, session

MAX_BYTES = 64 << 20
_LAYOUTS = ("parallel_layout_value_item", "parallel_out_layout_value_item")
_chosen = []  # (mode, path), or nothing


def configure(mode, path):
    """See mindspore.parallel.set_op_strategy_config."""
    if mode not in ("SAVE", "LOAD"):
        raise user_error(KeyError, "op-strategy:mode", "mode must be 'SAVE' or 'LOAD', not %r" % (mode,))
    check_path(path)
    _chosen[:] = [(mode, path)]


def check_path(path):
    if not isinstance(path, str) or not os.path.isabs(path):
        raise user_error(KeyError, "op-strategy:path", "the path of a strategy file must be absolute, not %r" % (path,))
    if not path.endswith(".json"):
        raise user_error(KeyError, "op-strategy:extension", "a file of operator strategies must end in .json, not %r" % path)


def reset():
    del _chosen[:]


def current(job):
    """What was configured, for programs whose strategies are propagated; else (None, "")."""
    propagated = job["mode"] == "auto_parallel" and job["search_mode"] == "sharding_propagation"
    return _chosen[0] if _chosen and propagated else (None, "")


def save(path, strategies, outputs):
    """Writes {full name: cuts per operand} and {full name: cuts per result}; the first rank of every node does."""
    if session.rank_number % RANKS_PER_NODE:
        return
    whole = {"current_stage": 0, "parallel_strategy_item": _items(strategies),
             "parallel_out_strategy_item": _items(outputs)}
    part = "%s.%d.part" % (path, os.getpid())
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(part, "w", encoding="utf-8") as file:
            json.dump(whole, file, indent=2, sort_keys=True)
        os.replace(part, path)
    except OSError as error:
        raise user_error(RuntimeError, "op-strategy:file", "strategies cannot be saved: %s" % error) from None


def _items(strategies):
    return {name: {"stage": 0, "parallel_strategy": strategy} for name, strategy in strategies.items()}


def load(path):
    """({full name: cuts per operand}, {full name: cuts per result}) of a file."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MAX_BYTES + 1)
        whole = json.loads(text) if len(text) <= MAX_BYTES else None
    except (OSError, ValueError) as error:  # ValueError: no JSON, no UTF-8
        raise user_error(RuntimeError, "op-strategy:file", "strategies cannot be loaded from '%s': %s" % (path, error),
                         "save them first, with mode='SAVE'") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("parallel_strategy_item"), dict):
        raise user_error(RuntimeError, "op-strategy:content", "'%s' is not a file of operator strategies" % path,
                         "save them first, with mode='SAVE'")
    if any(whole.get(name) for name in _LAYOUTS):
        raise Unsupported("mindspore.parallel.set_op_strategy_config", "'%s' holds layouts of operators" % path,
                          "save the strategies of a network that is cut by tuples")
    return _cuts(whole["parallel_strategy_item"], path), _cuts(whole.get("parallel_out_strategy_item") or {}, path)


def _cuts(items, path):
    found = {}
    for name, item in items.items():
        cuts = item.get("parallel_strategy") if isinstance(item, dict) else None
        if not isinstance(cuts, list) or not all(
                isinstance(entry, list) and all(type(cut) is int for cut in entry) for entry in cuts):
            raise user_error(RuntimeError, "op-strategy:content", "the strategy of '%s' in '%s' is not a list of lists of "
                             "whole numbers" % (name, path))
        found[name] = cuts
    return found
