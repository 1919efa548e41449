"""Branches on tensor values inside a network: both sides are recorded, the condition selects the results.

The construct() around the branch runs once per outcome. What was recorded before the branch is not recorded
again: a later run goes over the recording of the first one as long as it does the same, and takes the results of cells that
were called with the same tensors. Updates of parameters behind the branch are the same on all sides and recorded once. One side
may have more than the others, as `if not overflow:` has an optimizer and averages of weights: they are recorded as if they were
done. Sides that update differently are Unsupported.
"""
from mindspore._drydock import frames
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session

MAX_DECISIONS = 6


class _Run:
    """One execution of a construct(): outcomes that are given, and what was asked."""

    def __init__(self, program, given):
        self.given = given
        self.conditions = []  # (condition, place) in order
        self.assigned = False
        self.program = program
        self.updates = 0  # that are no optimizer's; those of the first run are gone over by later ones

    def decide(self, condition):
        place = frames.user_place()
        index = len(self.conditions)
        if index >= MAX_DECISIONS:
            if all(before == place for _, before in self.conditions):
                raise Unsupported(
                    "control-flow.tensor-value",
                    "a loop at %s branches on the values of tensors, more than %d times" % (frames.place_text(place), MAX_DECISIONS),
                    "a dry run knows shapes, not values, and does not see such a loop end; give it a fixed number of rounds, or "
                    "mock its condition (mindspore.utils.dryrun.mock)")
            raise Unsupported(
                "control-flow.tensor-value",
                "the network branches on the values of more than %d tensors, the last at %s"
                % (MAX_DECISIONS, frames.place_text(place)),
                "a dry run knows shapes, not values; branch on Python values or use ops.select")
        self.conditions.append((condition, place))
        return self.given[index] if index < len(self.given) else True


def _other_updates(program):
    """Updates that are no optimizer's."""
    return program.update_count - program.step_update_count


def decide(condition):
    """Outcome of bool(condition) in this execution of the innermost construct()."""
    run = session.branches
    if run is None:
        raise Unsupported("control-flow.tensor-value", "the script branches on the value of a tensor at " +
                          frames.place_text(frames.user_place()),
                          "a dry run knows shapes, not values; branch on Python values or use ops.select")
    session.behind_branch = True
    run.program.note_condition(condition)
    return run.decide(condition)


def guarded(condition, update):
    """An optimizer's step where the other side of a branch does nothing: recorded once, as if it were done."""
    session.program.note_condition(condition)
    saved, session.behind_branch = session.behind_branch, True
    try:
        return update()
    finally:
        session.behind_branch = saved


def note_assignment():
    """An attribute of a cell was set: running the code again would not be the same."""
    if session.branches is not None:
        session.branches.assigned = True


def run(program, body):
    """Result of a construct(), over all outcomes of its branches."""
    log = program.open_log()
    try:
        return _explore(program, body, [], log)
    finally:
        program.close_log(log)


def _execute(program, body, given, log):
    saved = session.branches, session.repeating, session.behind_branch
    session.branches, session.repeating = _Run(program, given), session.repeating or bool(given)
    log.rewind()
    passed = program.passed_update_count
    try:
        result, execution = body(), session.branches
        execution.updates = program.passed_update_count - passed
        return result, execution
    finally:
        session.branches, session.repeating, session.behind_branch = saved


def _explore(program, body, given, log):
    steps, others = program.step_update_count, _other_updates(program)
    result, execution = _execute(program, body, given, log)
    asked = execution.conditions
    if not given:
        log.updates = execution.updates
    else:
        more = _other_updates(program) - others  # than the first run had
        less = execution.updates - more < log.updates
        if more and (less or log.has_more or log.has_less):
            raise _side_effect("updates parameters differently on its sides", asked[len(given) - 1][1])
        log.has_more, log.has_less = log.has_more or more > 0, log.has_less or less
    if program.step_update_count != steps:  # a step that is left out after an overflow: recorded as if it were done
        log.updating_sides += 1
        if log.updating_sides > 1:
            raise _side_effect("has steps of an optimizer on several sides", asked[max(len(given) - 1, 0)][1])
    if len(asked) <= len(given):
        return result
    if execution.assigned:
        raise _side_effect("assigns attributes", asked[len(given)][1])
    for index in range(len(asked) - 1, len(given) - 1, -1):
        condition, place = asked[index]
        otherwise = _explore(program, body, given + [True] * (index - len(given)) + [False], log)
        result = _select(condition, result, otherwise, place)
    return result


def _side_effect(what, place):
    return Unsupported("control-flow.side-effect", "the network %s and branches on the value of a tensor at %s"
                       % (what, frames.place_text(place)), "branch on Python values or use ops.select")


def _select(condition, first, second, place):
    """The merged result of both sides; they must have the same structure, shapes and element types."""
    from mindspore.common.tensor import Tensor
    from mindspore.ops import functional
    if first is second:
        return first
    if isinstance(first, (tuple, list)) and type(first) is type(second) and len(first) == len(second):
        return type(first)(_select(condition, a, b, place) for a, b in zip(first, second))
    tensors = isinstance(first, Tensor) or isinstance(second, Tensor)
    if not tensors:
        if first == second:
            return first
    elif isinstance(first, Tensor) and isinstance(second, Tensor) and first.dtype is second.dtype and (
            first.shape == second.shape or first.size == second.size == 1):
        if session.program.is_same_value(first, second):  # `loss = depend(loss, optimizer(grads))` on one side
            return second if session.program.is_waited_for(second) else first
        if first.shape != second.shape:  # (1,) and (): one number each
            larger = max(first.shape, second.shape, key=len)
            first, second = (side if side.shape == larger else functional.reshape(side, larger) for side in (first, second))
        saved = session.extra_attrs
        session.extra_attrs = dict(saved, selects_side=True)
        try:
            return _selected(condition, first, second)
        finally:
            session.extra_attrs = saved
    raise user_error(RuntimeError, "control-flow:branches-differ",
                     "the branches at %s give different results: %s and %s"
                     % (frames.place_text(place), _kind(first), _kind(second)),
                     "let both sides return tensors of one shape and element type")


def _selected(condition, first, second):
    from mindspore.common import dtype as mstype
    from mindspore.ops import functional
    from mindspore.ops.primitive import cast
    flat = functional.reshape(condition, (1,) * len(first.shape))
    return functional.where(cast(flat, mstype.bool_), first, second)


def _kind(value):
    return "%s of shape %s" % (value.dtype, value.shape) if hasattr(value, "shape") else type(value).__name__
