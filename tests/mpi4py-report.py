"""Condenses the logs of mpi4py's test suite, one log per rank, into a table by module.

Arguments: folder of the logs, ranks, seconds, exit code of mpiexec.
Exit code 1 when a test failed, a rank did not come to its end, or mpiexec failed."""

import re
import sys
from pathlib import Path

START = re.compile(r"^\s*(\w+) \((?:__main__\.)?(test_\w+)\.([\w.]+)\)")
END = re.compile(r"(?:\.\.\. |^)(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
BAD = {"FAIL", "ERROR", "unexpected success"}


def read(log):
    """Outcomes by (module, test), None where a test did not end, and whether the suite ended and
    said itself that nothing failed."""
    outcomes, running, ended, good = {}, None, False, False
    for line in log.read_text(errors="replace").splitlines():
        if re.match(r"^Ran \d+ tests? in ", line):
            ended = True
        good = good or bool(ended and re.match(r"^OK\b", line))
        if (start := START.match(line)) and not ended:
            name, module, rest = start.groups()
            running = (module, rest if rest.endswith(name) else f"{rest}.{name}")
            outcomes.setdefault(running, None)
        if running and not ended and (end := END.search(line)):
            outcomes[running] = end.group(1).split(" '")[0].split(' "')[0]
            running = None
    return outcomes, ended, good


def worst(values):
    """The outcome that counts when ranks differ."""
    for bad in ("ERROR", "FAIL", "unexpected success", None):
        if bad in values:
            return bad
    return "ok" if "ok" in values else values[0]


def merge(logs):
    tests = {}
    for outcomes, *_ in logs:
        for test, outcome in outcomes.items():
            tests.setdefault(test, []).append(outcome)
    return {test: worst(outcomes) for test, outcomes in tests.items()}


def reasons(folder, count=5):
    """The first tracebacks, for whoever has to find out why."""
    found = []
    for log in sorted(folder.iterdir()):
        text = log.read_text(errors="replace")
        found += re.findall(r"^=+\n((?:ERROR|FAIL): .*?)(?=^=+$|^-+\nRan|\Z)", text, re.M | re.S)
    return found[:count]


def table(tests):
    modules = {}
    for (module, _), outcome in tests.items():
        row = modules.setdefault(module, {"pass": 0, "fail": 0, "skip": 0, "open": 0})
        if outcome is None:
            row["open"] += 1
        elif outcome in BAD:
            row["fail"] += 1
        else:
            row["skip" if outcome.startswith("skip") else "pass"] += 1
    print(f"{'module':28}{'pass':>6}{'fail':>6}{'skip':>6}{'open':>6}")
    for module, row in sorted(modules.items()):
        print(f"{module:28}" + "".join(f"{row[key]:6}" for key in row))
    return {key: sum(row[key] for row in modules.values()) for key in ("pass", "fail", "skip", "open")}


def main():
    folder, ranks, seconds, code = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    logs = [read(log) for log in sorted(folder.iterdir())]
    tests = merge(logs)
    print(f"\nmpi4py 4.1.2, {ranks} ranks, {seconds} s")
    total = table(tests)
    for (module, test), outcome in tests.items():
        if outcome is None or outcome in BAD:
            print(f"{outcome or 'did not end'}: {module}.{test}")
    for text in reasons(folder):
        print("-" * 70 + "\n" + "\n".join(text.splitlines()[:40]))

    ended = sum(ended for _, ended, _ in logs)
    content = sum(good for *_, good in logs)
    print(f"total: {total['pass']} passed, {total['fail']} failed, {total['skip']} skipped; "
          f"{ended} of {ranks} ranks came to their end, {content} content; mpiexec returned {code}, {seconds} s")
    if not tests:
        for log in sorted(folder.iterdir())[:1]:
            print("no test ran; a rank said:\n" + log.read_text(errors="replace")[-2000:])
    good = tests and ended == content == ranks and code == 0 and not total["fail"] and not total["open"]
    sys.exit(0 if good else 1)


main()
