"""Checks of Primitive.shard and their effect."""
from mindspore._drydock import frames
from mindspore._drydock.errors import user_error
from mindspore._drydock.rank import RankInt
from mindspore._drydock.session import session

# attribute of the primitive -> field of a graph request
FIELDS = {"in_strategy": "strategy", "out_strategy": "out_strategy",
          "in_layout": "layout", "out_layout": "out_layout"}
_NESTED = frozenset(("GroupedMatmul", "FusedInferAttentionScore", "Custom", "Index"))


def flat(strategy):
    """One entry per tensor: a tuple of tensors that is one argument has a tuple of entries."""
    entries = []
    for entry in strategy:
        if isinstance(entry, tuple) and entry and all(isinstance(part, (tuple, dict)) for part in entry):
            entries.extend(flat(entry))
        else:
            entries.append(entry)
    return entries


def layouts_text(layouts):
    """Layouts as MindSpore prints the attribute: names without quotes, numbers as they are."""
    def layout_text(layout):
        return "{'device_matrix': %s, 'tensor_map': %s, 'interleaved_parallel': %s, 'alias_name': (%s)}" % (
            layout["device_matrix"], layout["tensor_map"], str(layout["interleaved_parallel"]).lower(),
            ", ".join(layout["alias_name"]))
    return "(%s)" % ", ".join(layout_text(layout) for layout in flat(layouts))


def _check_numbers(op, which, entry):
    for number in entry:
        if type(number) is not int and type(number) is not RankInt:
            raise user_error(TypeError, op + ":strategy-element",
                             "%s of '%s' must hold whole numbers, not %r in %r" % (which, op, number, entry),
                             "write cuts as plain ints, for instance ((2, 4), (4, 1))")


def _kind(primitive, which, strategy):
    """"cuts" or "layouts"; None for an empty tuple. Raises on anything else."""
    from mindspore.parallel.shard import Layout
    op = primitive.name
    if not isinstance(strategy, tuple):
        raise user_error(TypeError, op + ":strategy-type",
                         "%s of '%s' must be a tuple, not %s" % (which, op, type(strategy).__name__),
                         "write one tuple per input, for instance ((2, 4), (4, 1))")
    kinds = set()
    for entry in strategy:
        if isinstance(entry, Layout) or _layouts_of_tuple(entry):
            kinds.add("layouts")
        elif isinstance(entry, tuple):
            kinds.add("cuts")
            if op not in _NESTED and not primitive.attrs.get("self_define_shard"):
                _check_numbers(op, which, entry)
        else:
            raise user_error(TypeError, op + ":strategy-entry",
                             "%s of '%s' must hold a tuple or a Layout per tensor, not %r" % (which, op, entry),
                             "write one tuple per input, for instance ((2, 4), (4, 1))")
    if len(kinds) > 1:
        raise user_error(TypeError, op + ":strategy-mixed",
                         "%s of '%s' mixes tuples and Layouts" % (which, op))
    return kinds.pop() if kinds else None


def _layouts_of_tuple(entry):
    """True for the Layouts of an operand that is a tuple of tensors."""
    from mindspore.parallel.shard import Layout
    return isinstance(entry, tuple) and bool(entry) and all(isinstance(part, Layout) for part in entry)


def _store(primitive, which, strategy, kind):
    if kind == "layouts":
        primitive.add_prim_attr(which + "_layout", tuple(map(_described, strategy)))
    else:
        primitive.add_prim_attr(which + "_strategy", _flat(strategy))


def _flat(strategy):
    """One tuple of cuts per tensor: the tuples of an operand that is a tuple of tensors follow each other."""
    entries = []
    for entry in strategy:
        nested = any(isinstance(inner, tuple) for inner in entry)
        entries += entry if nested else (entry,)
    return tuple(entries)


def _described(entry):
    return tuple(map(_layout_dict, entry)) if isinstance(entry, tuple) else _layout_dict(entry)


def _layout_dict(layout):
    described = layout.to_dict()
    described.pop("rank_list", None)
    return described


def check_shard(owner, in_strategy, out_strategy):
    """TypeError unless both are tuples of tuples or of Layouts, or absent."""
    from mindspore.parallel.shard import Layout
    for which, strategy in (("in_strategy", in_strategy), ("out_strategy", out_strategy)):
        if strategy is None and which == "out_strategy":
            continue
        if not isinstance(strategy, tuple) or any(not isinstance(e, (tuple, Layout, type(None))) for e in strategy):
            raise user_error(TypeError, owner + ":strategy-type",
                             "%s must be a tuple of tuples of ints or a tuple of Layouts, not %r" % (which, strategy))
        if len({isinstance(entry, Layout) for entry in strategy if entry is not None}) > 1:
            raise user_error(TypeError, owner + ":strategy-mixed", "%s mixes tuples and Layouts" % which)
        for entry in strategy:
            if isinstance(entry, tuple):
                _check_numbers(owner, which, entry)


def set_strategy(primitive, in_strategy, out_strategy):
    if in_strategy is None and out_strategy is None:
        return
    op = primitive.name
    in_kind = _kind(primitive, "in_strategy", in_strategy) if in_strategy is not None else None
    out_kind = _kind(primitive, "out_strategy", out_strategy) if out_strategy is not None else None
    if in_strategy is None:
        raise user_error(ValueError, op + ":out-without-in",
                         "'%s' has an out_strategy but no in_strategy" % op, "give both")
    if in_kind and out_kind and in_kind != out_kind:
        raise user_error(ValueError, op + ":strategy-kinds",
                         "in_strategy and out_strategy of '%s' must both be tuples or both be Layouts" % op)
    _store(primitive, "in", in_strategy, in_kind)
    if out_strategy is not None:
        _store(primitive, "out", out_strategy, out_kind or in_kind)
    primitive.shard_line = frames.user_stack()[:1]
    session.strategy_cuts = session.strategy_cuts or cuts(in_strategy) or cuts(out_strategy or ())


def cuts(strategy):
    """True if a strategy needs more than one device."""
    from mindspore.parallel.shard import Layout
    return any(max(entry.to_dict()["device_matrix"], default=1) > 1 if isinstance(entry, Layout)
               else cuts(entry) if isinstance(entry, tuple)
               else type(entry) is RankInt or (type(entry) is int and entry > 1) for entry in strategy)
