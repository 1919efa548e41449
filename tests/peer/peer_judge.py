"""Judges the evidence of the tests and prints the report. Rules: README.md in this folder."""
import collections
import os
import re
import sys

from peer_evidence import Evidence

CATEGORY_TEXT = collections.OrderedDict([
    ("a", "compiles, nothing else asserted"),
    ("b", "expects an exception"),
    ("c", "layout and graph checks"),
    ("d", "strategies found by a search"),
    ("e", "IR, files and other values"),
])
STATUSES = ("passed", "failed", "unsupported", "unproven", "timeout", "skipped", "absent")
# When several parametrised instances of one function disagree, the worst decides.
WORST_FIRST = ("failed", "timeout", "unsupported", "unproven", "passed", "skipped", "absent")


def label_of(test):
    return test["class"] + "::" + test["function"] if test.get("class") else test["function"]


def judge_instance(test, instance, hook_present):
    """(status, reason, missing names) of one instance, siblings not yet considered."""
    raw, error = instance["raw"], instance.get("error")
    if raw == "skipped":
        return "skipped", "", []
    if raw == "timeout":
        return "timeout", error["text"] if error else "", []
    if raw == "failed":
        if error is None:
            return "failed", "", []
        text = ("%s: %s" % (error["type"], error["text"])).strip()
        if error["unsupported"]:
            return "unsupported", text, error["unsupported"]
        return "failed", text, []
    evidence = instance.get("evidence") or Evidence(0).as_dict()
    for compiled in evidence["compiles"]:
        if compiled["violations"]:
            return "failed", "compile invariant broken: " + compiled["violations"][0], []
    judge = {"a": judge_a, "b": judge_b, "c": judge_c, "d": judge_d, "e": judge_e}[test["category"]]
    return judge(test, evidence, instance, hook_present)


def judge_a(test, evidence, instance, hook_present):
    if not hook_present:
        return "unproven", "the stand-in has no mindspore._drydock.last_compile", []
    compiles = evidence["compiles"]
    if not compiles:
        return "unproven", "no compile was reported", []
    if any(x["nodes"] <= 0 for x in compiles):
        return "unproven", "an empty program was compiled", []
    lacking = sorted({name for x in compiles for name in x["without_rule"]})
    if lacking:
        return "unsupported", "operators without a rule: " + ", ".join(lacking), [
            "rule of " + x for x in lacking]
    named = {x[4:] for x in test.get("apis", []) if re.match(r"ops\.[A-Z]\w*$", x)}
    named -= {"GradOperation", "PrimitiveWithInfer", "Primitive", "MultitypeFuncGraph", "HyperMap", "Map"}
    listed = [x["ops"] for x in compiles if x["ops"] is not None]
    # Containment, because a class and its node may differ in a prefix or suffix.
    if named and listed and not any(
            n in op or op in n for ops in listed for op in ops for n in named):
        return "unproven", "no operator that the test names is in the program", []
    return "passed", "", []


def judge_b(test, evidence, instance, hook_present):
    seen = evidence["raises"]
    if not seen:
        return "unproven", "no exception was observed in pytest.raises", []
    for fact in seen:
        text = "%s: %s" % (fact["type"], fact["text"])
        if fact["unsupported"]:
            return "unsupported", "raised our own limit inside pytest.raises: " + text, fact["unsupported"]
        if fact["defect"]:
            return "failed", "a defect satisfied pytest.raises: " + text, []
    for fact in seen:
        if fact["reason"] is None and not fact["own_raise"]:
            return "unproven", "the exception has no drydock_reason: %s: %s" % (
                fact["type"], fact["text"]), []
    return "passed", "", []


def judge_c(test, evidence, instance, hook_present):
    looked = evidence["validators"] + evidence["queries"] + evidence["strategies"]
    if any(not x["plain"] for x in looked):
        return "unproven", "the inspected data are not plain values", []
    if any(x["empty"] for x in evidence["validators"]):
        return "unproven", "the validator saw neither layouts nor graphs", []
    compiles = evidence["compiles"]
    if compiles and all(x["nodes"] <= 0 for x in compiles):
        return "unproven", "an empty program was compiled", []
    if not looked and not compiles:
        return "unproven", "nothing compiled and nothing inspected", []
    if not evidence["asserts"] + evidence["checks"]:
        return "unproven", "no assertion was reached", []
    return "passed", "", []


def judge_d(test, evidence, instance, hook_present):
    found = evidence["strategies"]
    if not found:
        return "unproven", "no strategy dictionary was read", []
    if any(not x["plain"] or not x["well_formed"] for x in found):
        return "unproven", "the strategies are not nested lists of positive integers", []
    if any(not x["size"] for x in found):
        return "unproven", "an empty strategy dictionary was read", []
    matched = {k for k, v in evidence["patterns"].items() if v}
    wanted = set(evidence["patterns"]) | set(instance.get("literal_patterns") or ())
    if wanted - matched:
        return "unproven", "no node name matched " + ", ".join(sorted(map(repr, wanted - matched))), []
    if not evidence["asserts"]:
        return "unproven", "no assertion was reached", []
    return "passed", "", []


def judge_e(test, evidence, instance, hook_present):
    if not hook_present:
        return "unproven", "the stand-in has no mindspore._drydock.last_compile", []
    compiles = evidence["compiles"]
    if compiles and all(x["nodes"] <= 0 for x in compiles):
        return "unproven", "an empty program was compiled", []
    if not evidence["asserts"] + evidence["checks"]:
        return "unproven", "no assertion was reached", []
    return "passed", "", []


def values_are_ours(found):
    """All instances of a test reached its assertions, and none failed."""
    def reached(instance):
        evidence = instance.get("evidence") or {}
        return instance["raw"] == "passed" and evidence.get("asserts", 0) + evidence.get("checks", 0) > 0
    return bool(found) and all(map(reached, found))


def judge_file(tests, instances, file_error, hook_present, canary_failed, manifest_tests, asserting=frozenset()):
    """Records of the manifest's tests of one file, in file order; `asserting`: functions that assert values."""
    by_key = collections.defaultdict(list)
    for instance in instances:
        by_key[(instance["cls"], instance["function"])].append(instance)
    records = {}
    for test in tests:
        found = by_key.get((test.get("class"), test["function"]), [])
        record = {"file": test["file"], "class": test.get("class"), "function": test["function"],
                  "category": test["category"], "raw": None, "status": "absent", "reason": "",
                  "missing": [], "seconds": None, "asserts_values": test["function"] in asserting,
                  "values_ours": test["function"] in asserting and not canary_failed and values_are_ours(found)}
        if not found:
            if file_error is not None:
                record["raw"] = "timeout" if file_error["type"] == "timeout" else "failed"
                record["missing"] = file_error["unsupported"]
                record["status"] = "unsupported" if file_error["unsupported"] else record["raw"]
                record["reason"] = ("file not loaded: %s: %s" % (
                    file_error["type"], file_error["text"]))[:300]
            else:
                record["reason"] = "not in this suite"
            records[label_of(test)] = record
            continue
        verdicts = [(x, judge_instance(test, x, hook_present)) for x in found]
        verdicts.sort(key=lambda v: WORST_FIRST.index(v[1][0]))
        status, reason, _ = verdicts[0][1]
        raws = [x["raw"] for x in found]
        record.update(
            status=status, reason=reason[:300],
            missing=sorted({name for _, v in verdicts for name in v[2]}),
            raw=next((x for x in ("failed", "timeout", "passed", "skipped") if x in raws), None),
            seconds=round(sum(x["seconds"] or 0 for x in found), 3))
        if len(found) > 1:
            record["instances"] = [
                {"id": x["id"], "raw": x["raw"], "status": v[0], "reason": v[1][:300]}
                for x, v in sorted(verdicts, key=lambda p: found.index(p[0]))]
        if test["category"] == "b" and status == "passed":
            reasons = [f["reason"] for x in found for f in (x.get("evidence") or {}).get("raises", [])
                       if f["reason"]]
            record["reason_codes"] = sorted(set(reasons))
            record["reason_names_api"] = names_api(test, reasons) if reasons else None
        records[label_of(test)] = record
    if canary_failed:
        for record in records.values():
            if record["status"] == "passed":
                record["status"] = "unproven"
                record["reason"] = "the stand-in accepts names that do not exist (canary)"
    # A negative test counts only next to a positive one of its file that counts.
    siblings = [t for t in manifest_tests if t["category"] != "b" and not t.get("skip")]
    positive = any(records.get(label_of(t), {}).get("status") == "passed" for t in siblings)
    if siblings and not positive:
        for record in records.values():
            if record["category"] == "b" and record["status"] == "passed":
                record["status"] = "unproven"
                record["reason"] = "no positive test of the file counts"
    return list(records.values())


def names_api(test, reasons):
    """Does a reason code ("Subject:code") name something that the test uses?"""
    words = {x.rsplit(".", 1)[-1].lower() for x in test.get("apis", [])}
    for reason in reasons:
        subject = reason.split(":", 1)[0].rsplit(".", 1)[-1].lower()
        if subject and any(subject.startswith(w) or w.startswith(subject) for w in words):
            return True
    return False


def summarise(records):
    table = collections.OrderedDict()
    for category in CATEGORY_TEXT:
        rows = [r for r in records if r["category"] == category]
        if not rows:
            continue
        counts = {s: sum(r["status"] == s for r in rows) for s in STATUSES}
        missing = collections.Counter(n for r in rows if r["status"] == "unsupported"
                                      for n in r["missing"])
        counts.update(
            tests=len(rows), raw_passed=sum(r["raw"] == "passed" for r in rows),
            asserting=sum(r.get("asserts_values", False) for r in rows),
            values_ours=sum(r.get("values_ours", False) for r in rows),
            top_missing=[[n, c] for n, c in sorted(missing.items(), key=lambda p: (-p[1], p[0]))[:10]])
        table[category] = counts
    return table


def print_report(report, records, show):
    probe = report["stand_in"]
    out = sys.stdout.write
    out("stand-in: hook %s, canary %s%s\n" % (
        "present" if probe["hook"] else "MISSING", "ok" if not probe["canary"] else "FAILED",
        "" if not probe["canary_skipped"] else " (ignored)"))
    for line in probe["canary"] + probe["taxonomy"]:
        out("  warning: %s\n" % line)
    suite = report["suite"]
    out("suite: %d files run, %d not in the checkout, %d differ from the surveyed ones; digest %s\n\n" % (
        suite["files"], len(suite["absent_files"]), len(suite["changed_files"]), suite["digest"]))
    head = ("cat", "what", "tests", "passed", "failed", "unsupp.", "unproven", "timed out",
            "skipped", "absent", "raw pass", "asserting", "ours")
    out("%-3s  %-32s %6s %7s %7s %8s %9s %10s %8s %7s %9s %10s %6s\n" % head)
    for category, c in report["categories"].items():
        out("%-3s  %-32s %6d %7d %7d %8d %9d %10d %8d %7d %9d %10d %6d\n" % (
            category, CATEGORY_TEXT[category], c["tests"], c["passed"], c["failed"], c["unsupported"],
            c["unproven"], c["timeout"], c["skipped"], c["absent"], c["raw_passed"], c["asserting"], c["values_ours"]))
    asserting, ours = (sum(c[key] for c in report["categories"].values()) for key in ("asserting", "values_ours"))
    if asserting:
        out("\ncases whose asserted values are ours: %d of %d (%.1f %%)\n" % (ours, asserting, 100.0 * ours / asserting))
    out("\n")
    for title, letters in (("score, compile only (a)", "a"), ("score, checked (b, c, d, e)", "bcde")):
        rows = [c for k, c in report["categories"].items() if k in letters]
        total = sum(c["tests"] - c["skipped"] for c in rows)
        passed = sum(c["passed"] for c in rows)
        if total:
            out("%-28s %d of %d (%.1f %%)\n" % (title + ":", passed, total, 100.0 * passed / total))
    doubtful = sum(r.get("reason_names_api") is False for r in records if r["status"] == "passed")
    if doubtful:
        out("note: %d passed tests of category b have a reason code that names nothing the test uses\n"
            % doubtful)
    for category, c in report["categories"].items():
        if c["top_missing"]:
            out("missing (%s): %s\n" % (category, ", ".join(
                "%s x%d" % (n, k) for n, k in c["top_missing"])))
    whys = collections.Counter(re.sub(r"('[^']*'|:.*)", "...", r["reason"]) for r in records
                               if r["status"] == "unproven")
    for why, count in sorted(whys.items(), key=lambda p: (-p[1], p[0]))[:8]:
        out("unproven: %d x %s\n" % (count, why))
    if show:
        out("\n")
        bad = [r for r in records if r["status"] not in ("passed", "skipped")]
        for r in bad[:show]:
            out("[%s] %-11s %s::%s\n      %s\n" % (
                r["category"], r["status"], os.path.basename(r["file"]), label_of(r), r["reason"]))
        if len(bad) > show:
            out("... and %d more\n" % (len(bad) - show))
