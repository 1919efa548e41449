"""What differs between a record of MindSpore's dry run and ours of the same rank."""

import collections

import ours
import records


def percent(mine, truth):
    return 100.0 * (mine - truth) / truth if truth else None


# What MindSpore's back end makes of an operator of the network, which our reports name.
_KINDS = {"alltoallv": "neighborexchange"}


def _triples(collectives):
    kinds = (one["op"].lower() for one in collectives)
    return [(_KINDS.get(kind, kind), one["ranks"], one["bytes"]) for kind, one in zip(kinds, collectives)]


def _by_group(triples):
    sequences = collections.defaultdict(list)
    for kind, group, size in triples:
        sequences[group].append((kind, size))
    return sequences


def _counted(counter, form):
    return ", ".join(form(key, count) for key, count in sorted(counter.items())) or "-"


def collectives(theirs, mine):
    """`order`: equal sequence; `group order`: equal in every group; `set`: equal ones in another order; `no`.

    @return the word, and what only one side has
    """
    left, right = _triples(theirs), _triples(mine)
    if left == right:
        return "order", ""
    if _by_group(left) == _by_group(right):
        return "group order", ""
    left, right = collections.Counter(left), collections.Counter(right)
    if left == right:
        return "set", ""
    text = lambda key, count: "%d x %s [%s] %d B" % ((count,) + key)
    return "no", "only MindSpore: %s; only ours: %s" % (_counted(left - right, text), _counted(right - left, text))


def count_of_collectives(theirs, mine):
    """@return (collectives of both: kind, group and bytes; all that either has)"""
    left, right = collections.Counter(_triples(theirs)), collections.Counter(_triples(mine))
    return sum((left & right).values()), sum((left | right).values())


def kernels(theirs, mine):
    """@return (equal as a multiset, equal in order, text of the difference)"""
    left, right = records.from_run_length(theirs), records.from_run_length(mine)
    missing, extra = (collections.Counter(a) - collections.Counter(b) for a, b in ((left, right), (right, left)))
    text = lambda key, count: "%s*%d" % (key, count) if count > 1 else key
    if missing or extra:
        return False, False, "missing: %s; extra: %s" % (_counted(missing, text), _counted(extra, text))
    for place, (a, b) in enumerate(zip(left, right)):
        if a != b:
            around = slice(max(0, place - 3), place + 5)
            return True, False, "from kernel %d on: MindSpore ... %s; ours ... %s" % (
                place, " ".join(left[around]), " ".join(right[around]))
    return True, True, ""


def _plain(strategy):
    return str(tuple(tuple(cuts) for cuts in strategy)).replace(" ", "")


def strategies(theirs, mine):
    """@return (equal, of both, text of the first ones that differ)"""
    both = [name for name in theirs if name in mine]
    other = [name for name in both if _plain(theirs[name]) != str(mine[name]).replace(" ", "")]
    return len(both) - len(other), len(both), "; ".join(
        "%s: MindSpore %s, ours %s" % (name.rsplit("/", 1)[-1], _plain(theirs[name]), mine[name]) for name in other[:4])


def slices(theirs, mine, world):
    """@return (equal, of both, text of those that differ); a parameter of which only one side knows is not counted"""
    def shape(one):
        """A sharded optimizer divides the rows of the slice among its group, whose name begins with its size unless it is that
        of all ranks."""
        if not isinstance(one, dict):
            return one
        size = str(one.get("optimizer_group") or "1").split("-")[0]
        ranks = int(size) if size.isdigit() else world
        return [one["slice"][0] // ranks] + one["slice"][1:] if ranks > 1 else one["slice"]

    both = [name for name in theirs if name in mine]
    other = [name for name in both if list(shape(theirs[name])) != mine[name]]
    return len(both) - len(other), len(both), "; ".join(
        "%s: MindSpore %s, ours %s" % (name, shape(theirs[name]), mine[name]) for name in other[:4])


def compare(record, mine):
    """@return the columns of a record's row; `mine` is what ours.as_record returned"""
    row = {}
    for column, field in (("used", "used_peak_bytes"), ("actual", "actual_peak_bytes"),
                          ("persistent", "persistent_bytes")):
        row[column] = mine[field] - record[field]
        row[column + " %"] = percent(mine[field], record[field])
    truth = ours.their_parts(record["peak_parts"], record["used_peak_bytes"])
    row["parts"] = {part: mine["peak_parts"].get(part, 0) - truth[part] for part in truth}
    row["peak at"] = (record["peak_at"].rsplit("/", 1)[-1], mine["peak_at"].rsplit("/", 1)[-1])
    row["collectives"], row["why collectives"] = collectives(record["collectives"], mine["collectives"])
    row["collective count"] = count_of_collectives(record["collectives"], mine["collectives"])
    if "kernel_order" in mine:
        row["kernels"], row["kernel order"], row["why kernels"] = kernels(record["kernel_order"], mine["kernel_order"])
    if "parameter_slices" in mine:
        row["slices"] = slices(record.get("parameter_slices", {}), mine["parameter_slices"], record["world"])
    row["strategies"] = strategies(record.get("strategies", {}), mine["strategies"])
    return row
