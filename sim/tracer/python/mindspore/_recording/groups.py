"""Groups of ranks that the script makes, in the form the compiler takes.

A collective of a script names its group; the compiler describes groups by digits of the rank, (rank / stride) % extent
(strategies/layout/rank_pattern.h), which says the same for all ranks at once. A group whose ranks have no such form is
our limit.
"""
from mindspore._drydock import rank as rank_guards
from mindspore._drydock.errors import Unsupported, user_error
from mindspore._drydock.session import session


def digits_of(ranks):
    """[stride, extent, stride, extent, ...], outermost first, of an ascending list of ranks; None if there is no such form."""
    offsets = [rank - ranks[0] for rank in ranks]
    digits = []
    covered = 1  # ranks that the digits so far reach
    while covered < len(offsets):
        stride = offsets[covered]
        extent = 1
        while (extent + 1) * covered <= len(offsets) and all(
                offsets[extent * covered + i] == extent * stride + offsets[i] for i in range(covered)):
            extent += 1
        if extent == 1:
            return None
        digits.insert(0, (stride, extent))
        covered *= extent
    reached = [0]
    for stride, extent in reversed(digits):
        reached = [part * stride + offset for part in range(extent) for offset in reached]
    aligned = all(ranks[0] // stride % extent == 0 for stride, extent in digits)
    if reached != offsets or not aligned:
        return None
    return [number for digit in digits for number in digit]


def ranks_at(ranks, rank):
    """The ranks of a group as `rank` names them: numbers that the script computes from its own rank are another list for each."""
    return [item._evaluate(rank) if type(item) is rank_guards.RankInt else item for item in ranks]


def _ask(text, evaluate):
    """The answer for this rank; a guard only where other ranks get another one."""
    outcome = evaluate(session.rank_number)
    if all(evaluate(rank) == outcome for rank in range(session.world_size)):
        return outcome
    return rank_guards.ask(text, evaluate, session.rank_number)


def is_sound(ranks):
    """True if the ranks are different ones of the job."""
    def sound(at):
        there = ranks_at(ranks, at)
        return len(set(there)) == len(there) and all(0 <= rank < session.world_size for rank in there)

    if any(type(rank) is rank_guards.RankInt for rank in ranks):
        return _ask("ranks of a group %s are sound" % ranks_at(ranks, session.rank_number), sound)
    return sound(session.rank_number)


def collective_attrs(op, group):
    """What a collective of the script says about its group: `rank_size`, and `group_digits` unless it is all ranks.

    Not its name: ranks of other groups of the same kind compute the same network.
    """
    from mindspore.communication.management import _group_ranks
    ranks = _group_ranks(group)
    if ranks is None and session.compile_at_once:  # no launcher: the ranks are those of device_num
        from mindspore import context
        return {"rank_size": context.device_count()}
    if ranks is None:
        return {"rank_size": session.world_size}
    given, ranks = ranks, sorted(ranks_at(ranks, session.rank_number))
    member = _ask("rank in group '%s' of %s" % (group, ranks), lambda rank: rank in ranks_at(given, rank))
    if not member:
        raise user_error(RuntimeError, op + ":not-in-group", "rank %d calls '%s' on group '%s', but is not one of its ranks %s"
                         % (session.rank_number, op, group, ranks), "let only the ranks of a group use it")
    digits = _ask("digits of group '%s' of %s" % (group, ranks), lambda rank: digits_of(sorted(ranks_at(given, rank))))
    if digits is None:
        raise Unsupported("create_group", "group '%s' has ranks %s, which are not evenly spread" % (group, ranks),
                          "use ranks that differ by equal steps and begin at a multiple of the group's extent")
    return {"rank_size": len(ranks), "group_digits": digits}
