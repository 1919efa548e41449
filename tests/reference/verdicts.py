"""What is expected of each record, column by column, and what a run says about it.

`expected.json` beside the records lists only what is not equal yet:

    {"opt_adam": {"used": "within 1 %", "kernels": "differs", "because": "..."}, ...}

A record that is not named, and a column that is not named, must be equal. Better than expected is told, worse is a failure.
Causes that begin with "seen: " are renewed with the rest (compare.py --expect); others were written by somebody who knows.
"""

import json
import re

import records

# Best first. A verdict is better than another one of its column if it stands in front of it.
PEAK = ("equal", "within 0.1 %", "within 1 %", "differs")
PLAIN = ("equal", "differs")
COLUMNS = {"used": PEAK, "actual": PEAK, "persistent": PLAIN, "parts": PLAIN,
           "collectives": ("equal", "equal in every group", "another order", "differs"),
           "kernels": PLAIN, "kernel order": PLAIN, "slices": PLAIN, "strategies": PLAIN}
DOES_NOT_RUN = "does not run"

_COLLECTIVES = dict(zip(("order", "group order", "set", "no"), COLUMNS["collectives"]))


def _of_peak(difference, share):
    far = abs(share) if share is not None else 0.0 if difference == 0 else 100.0
    return PEAK[0] if difference == 0 else PEAK[1] if far <= 0.1 else PEAK[2] if far <= 1 else PEAK[3]


def verdicts_of(row):
    """@return {column: verdict} of a compared row; {"runs": DOES_NOT_RUN} if there is nothing to compare"""
    if "used" not in row:
        return {"runs": DOES_NOT_RUN}
    plain = lambda equal: PLAIN[0] if equal else PLAIN[1]
    found = {column: _of_peak(row[column], row[column + " %"]) for column in ("used", "actual")}
    found["persistent"] = plain(row["persistent"] == 0)
    found["parts"] = plain(not any(row["parts"].values()))
    found["collectives"] = _COLLECTIVES[row["collectives"]]
    for column in ("kernels", "kernel order"):
        found[column] = plain(row.get(column, False))
    for column in ("slices", "strategies"):
        equal, of, _ = row.get(column, (0, 0, ""))
        found[column] = plain(equal == of)
    return found


def _file(vectors):
    return records.scripts_of(vectors) / "expected.json"


def load(vectors):
    """@return {record: {column: verdict, "because": cause}}; None if nobody said what to expect"""
    path = _file(vectors)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _place(column, verdict):
    return COLUMNS[column].index(verdict)


def judge(row, expected):
    """@return (lines of what is worse, lines of what is better than expected)"""
    found = verdicts_of(row)
    if "runs" in found or "runs" in expected:
        if found.get("runs") == expected.get("runs"):
            return [], []
        text = "%s: %s" % (row["name"], "runs now" if "runs" in expected else "does not run: " + row.get("error", ""))
        return ([], [text]) if "runs" in expected else ([text], [])
    worse, better = [], []
    for column, verdict in found.items():
        wanted = expected.get(column, "equal")
        if verdict != wanted:
            kept = worse if _place(column, verdict) > _place(column, wanted) else better
            kept.append("%s: %s: %s, expected: %s" % (row["name"], column, verdict, wanted))
    return worse, better


def shares(rows):
    """What a set without expectations is judged by: shares of records with both peaks within 1 % and with equal collectives."""
    found = [verdicts_of(row) for row in rows]
    near = [one for one in found if all(one.get(column, "differs") != "differs" for column in ("used", "actual"))]
    equal = [one for one in found if one.get("collectives") in ("equal", "equal in every group")]
    return len(near) / len(rows), len(equal) / len(rows)


SEEN = "seen: "  # in front of causes that nobody wrote by hand
PLACES = re.compile(r"\S*/(?=[^/\s]+\.py:)|:\d+:\d+(?=:)")  # paths and columns of a diagnostic


def seen_cause(row):
    """What a row shows of why it differs: the first of a diagnostic, kernels, collectives, order, parts."""
    if "error" in row:
        return SEEN + PLACES.sub("", row["error"])
    if not row.get("kernels", True):
        return SEEN + "other kernels: " + row["why kernels"]
    if row["collectives"] == "no":
        return SEEN + "other collectives: " + row["why collectives"]
    if not row.get("kernel order", True) or row["collectives"] == "set":
        return SEEN + "another order"
    parts = ", ".join("%s %+d B" % one for one in row["parts"].items() if one[1])
    return SEEN + ("memory alone: " + parts if parts else "memory with fragments, or what lives throughout")


def renew(vectors, rows):
    """From now on what `rows` show is expected; causes that somebody wrote stay with what still differs."""
    known = load(vectors) or {}
    new = dict(known)
    for row in rows:
        new.pop(row["name"], None)
        left = {column: verdict for column, verdict in verdicts_of(row).items() if verdict != "equal"}
        if left:
            cause = known.get(row["name"], {}).get("because", SEEN)
            left["because"] = seen_cause(row) if cause.startswith(SEEN) or cause == "not known yet" else cause
            new[row["name"]] = left
    lines = ",\n".join("%s: %s" % (json.dumps(name), json.dumps(new[name])) for name in sorted(new))
    _file(vectors).write_text("{\n" + lines + "\n}\n", encoding="utf-8")


def scope(vectors):
    """@return {record: why it is not compared}, empty texts for those that are"""
    texts = {}
    for record in records.load(vectors):
        text = (records.scripts_of(vectors) / record["script"]).read_text(encoding="utf-8")
        texts[records.name_of(record)] = records.not_compared(text)
    return texts
