#!/usr/bin/env python3
"""Runs collections of faulty MPI programs under TERN_CHECK, and prints a table of what was found.

Usage: scripts/suites/check.py [OPTION]... PREFIX
  --mbi DIR        C programs of the MPI Bugs Initiative, as its generators write them (python3 scripts/generators/X.py, in DIR)
  --corrbench DIR  the folder micro-benches/0-level of MPI-CorrBench
  --intel DIR      the compiled programs of Intel's suite, as scripts/suites/intel-anl.list names them; its tests of errors are run
  --programs DIR   the compiled programs, by PREFIX/bin/mpicc: MBI-NAME for NAME.c, CorrBench-FOLDER_NAME for FOLDER/NAME.c
  --keep DIR       the folder for what each run has said
  --only PATTERN   only programs whose name matches this regular expression
  --jobs N         programs that run at once (3)
  --stall S        TERN_STALL (2s), and --limit S, after which a program is ended (12 seconds, and ten times that for a right one)
  --list           names the programs of each verdict that is wrong
  --reasons LIST   lines `missed PATTERN REASON` and `own PATTERN REASON` for verdicts that may be wrong, `skip PATTERN REASON` for
                   programs that do not run. Exit code 1 if it does not explain a wrong verdict
  --sums FILE      gets how many are right, wrong by the program's own fault, missed, skipped, and without a reason
  --because FILE   gets a line for each that has a reason, `WORD REASON`

A program is told to be faulty by an error of an MPI call, by a warning of the library, by the word "deadlock" in the picture of
TERN_STALL, or by that picture when the program never ends. A crash that Tern says nothing about counts as missed. A right program
that Tern says nothing about has failed besides if it did not end well, for want of ranks for example. The programs of MPI-CorrBench
in the folder openmp are left out: they are about races between the threads of a program.

A test of Intel's suite has its errors returned, and asks for their classes. It is found when the text of one names an MPI call. Those
that fail nevertheless, most of them because they expect another class, are listed besides.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

# A note of the library, about what the standard permits and advises against, tells of no fault.
TOLD = re.compile(r"failed in rank|^tern.*\bwarning: |^tern: MPI_\w+ failed|deadlock:|without calling MPI_Finalize", re.M)
PICTURE = "nothing has moved for"
NAMED = re.compile(r"^returned: MPI_ERR_\w+: .*\bMPI_[A-Z]\w+: .", re.M)

Program = collections.namedtuple("Program", "suite category name source ranks arguments faulty")


def of_mbi(folder):
    for source in sorted(Path(folder).glob("*.c")):
        text = source.read_text(errors="replace")
        head = re.search(r"BEGIN_MBI_TESTS(.*?)END_MBI_TESTS", text, re.S)
        if not head:
            continue
        tests = re.findall(r"^\s*\$ ?mpirun -np (\d+)(.*?)\$\{EXE\}(.*)\n[ |]*(OK|ERROR: *(\w+))", head[1], re.M)
        for number, (ranks, setting, arguments, verdict, kind) in enumerate(tests):
            # A program that relies on buffers is right with enough of them; TERN_CHECK always asks about none.
            if "infty_buffer" not in setting:
                yield Program("MBI", kind, f"{source.stem}.{number}", source, int(ranks), arguments.split(), verdict != "OK")


def of_corrbench(folder):
    root = Path(folder)
    for source in sorted(root.rglob("*.c")):
        parts = source.relative_to(root).parts
        if parts[0] == "openmp":
            continue
        kind = source.stem.split("-")[0]
        category = "/".join(parts[:-1]) if parts[0] == "correct" else f"{parts[-2]} {kind}"
        yield Program("CorrBench", category, "_".join(parts)[:-2], source, 2, [], parts[0] != "correct")


def of_intel(folder):
    root = Path(folder).resolve()
    lines = [line.split() for line in (Path(__file__).parent / "intel-anl.list").read_text().splitlines()]
    for binary in sorted(root.glob("*/*/error/*")):
        name = str(binary.relative_to(root))
        ranks = next((line[2] for line in lines if line[:1] == ["ranks"] and fnmatch.fnmatch(name, line[1])), "4")
        yield Program("Intel", " ".join(binary.parts[-4:-2]), name, binary, int(ranks), [], True)


def binary_of(program, folder):
    """The program as the user has compiled it; None where there is none."""
    if program.suite == "Intel":
        return program.source
    binary = folder / f"{program.suite}-{program.source.stem if program.suite == 'MBI' else program.name}"
    return binary if binary.exists() else None


def listed(program, options, *words):
    """The first line of the list with one of these words whose pattern the program's name matches: word and reason; None without."""
    lines = (line for line in options.lines if len(line) == 3 and line[0] in words)
    return next(((word, why.strip()) for word, pattern, why in lines if fnmatch.fnmatchcase(program.name, pattern)), None)


def verdict(program, options):
    """What the run has said: `told`, `told, but not passed`, `silent`, `crashed`, `hung`, `skipped`, or `unbuilt`."""
    if listed(program, options, "skip"):
        return program, "skipped"
    binary = binary_of(program, options.programs)
    if binary is None:
        return program, "unbuilt"
    libraries = f"{options.prefix}/lib"
    environment = {**os.environ, "TERN_CHECK": "1", "TERN_STALL": options.stall, "LD_LIBRARY_PATH": libraries}
    setting = ["--initial-errhandler", "mpi_errors_return", "-x", f"LD_PRELOAD={options.keep}/texts.so"] if program.suite == "Intel" else []
    command = [f"{options.prefix}/bin/mpiexec", *setting, "-n", str(program.ranks), str(binary), *program.arguments]
    path = options.keep / f"{program.suite}-{program.name.replace('/', '_')}.said"
    with open(path, "w") as said, tempfile.TemporaryDirectory() as place:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                               cwd=place, env=environment, start_new_session=True)
        end, hangs = time.monotonic() + options.limit * (1 if program.faulty else 10), False
        while job.poll() is None:
            time.sleep(0.03)
            hangs = time.monotonic() > end
            if hangs or "deadlock:" in path.read_text(errors="replace"):
                os.killpg(job.pid, signal.SIGTERM)
                try:
                    job.wait(3)
                except subprocess.TimeoutExpired:
                    os.killpg(job.pid, signal.SIGKILL)
                    job.wait()
    text = path.read_text(errors="replace")
    with open(path, "a") as said:
        said.write(f"\n[{' '.join(command)}: exit code {job.returncode}{', ended after the limit' if hangs else ''}]\n")
    if program.suite == "Intel":
        if NAMED.search(text):
            return program, "told" if re.search("PASSED|Pass", text) and "FAILED" not in text else "told, but not passed"
    elif TOLD.search(text) or hangs and PICTURE in text:
        return program, "told"
    if hangs:
        return program, "hung"
    return program, "silent" if job.returncode == 0 else "crashed"


def table(results, names):
    rows = collections.defaultdict(collections.Counter)
    wrong = collections.defaultdict(list)
    for program, said in results:
        row = (program.suite, program.category if program.faulty else "right programs")
        if said in ("unbuilt", "skipped"):
            outcome = "unbuilt"
        elif program.faulty:
            outcome = "found" if said.startswith("told") else "missed"
        else:
            outcome = {"silent": "quiet", "told": "false"}.get(said, "failed")
        rows[row][outcome] += 1
        if outcome not in ("found", "quiet") or said == "told, but not passed":
            wrong[said if outcome == "found" else outcome].append(f"{program.suite} {program.category}: {program.name} ({said})")
    print("| suite | category | faulty | found | missed | right | false alarms | failed besides | not built |")
    print("|---|---|---|---|---|---|---|---|---|")
    total = collections.Counter()
    for (suite, category), row in sorted(rows.items()):
        total += row
        print(f"| {suite} | {category} | {row['found'] + row['missed']} | {row['found']} | {row['missed']} "
              f"| {row['quiet'] + row['false'] + row['failed']} | {row['false']} | {row['failed']} | {row['unbuilt']} |")
    faulty, told = total["found"] + total["missed"], total["found"] + total["false"]
    print(f"| all | | {faulty} | {total['found']} | {total['missed']} | {total['quiet'] + total['false'] + total['failed']} "
          f"| {total['false']} | {total['failed']} | {total['unbuilt']} |")
    print(f"\nrecall {total['found'] / max(faulty, 1):.3f}, precision {total['found'] / max(told, 1):.3f}")
    if names:
        for outcome, programs in wrong.items():
            print(f"\n{outcome}:\n" + "\n".join(f"  {name}" for name in sorted(programs)))


def explained(results, options):
    """Judges the verdicts by the list; writes the files of `--sums` and `--because`, and returns the number of those without a reason."""
    sums, because = collections.Counter(), []
    for program, said in results:
        right = said.startswith("told") if program.faulty else said == "silent"
        reason = listed(program, options, "own", "missed", "skip")
        # A right program has to end well, whatever Tern says of it.
        if said == "unbuilt" or not program.faulty and said not in ("told", "skipped"):
            reason = None
        word = "passed" if right else reason[0] if reason else "unexpected"
        if word in ("own", "missed", "skip"):
            because.append(" ".join(reason))
        if word != "passed":
            label = "FAIL" if word == "unexpected" else word
            print(f"{label} {program.suite} {program.category}: {program.name}, {said}" + (f": {reason[1]}" if reason else ""))
        sums[word] += 1
    if options.sums:
        options.sums.write_text(" ".join(str(sums[word]) for word in ("passed", "own", "missed", "skip", "unexpected")) + "\n")
    if options.because:
        options.because.write_text("".join(f"{line}\n" for line in because))
    return sums["unexpected"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix")
    parser.add_argument("--mbi")
    parser.add_argument("--corrbench")
    parser.add_argument("--intel")
    parser.add_argument("--programs", type=Path, default=".")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=3)
    parser.add_argument("--stall", default="2s")
    parser.add_argument("--limit", type=float, default=12)
    parser.add_argument("--list", action="store_true")
    for name in ("reasons", "sums", "because"):
        parser.add_argument(f"--{name}", type=Path)
    options = parser.parse_args()
    options.prefix = Path(options.prefix).resolve()
    options.programs = options.programs.resolve()
    options.keep = (options.keep or Path(tempfile.mkdtemp())).resolve()
    options.keep.mkdir(parents=True, exist_ok=True)
    options.lines = [line.split(None, 2) for line in options.reasons.read_text().splitlines()] if options.reasons else []
    programs = list(of_mbi(options.mbi)) if options.mbi else []
    programs += of_corrbench(options.corrbench) if options.corrbench else []
    if options.intel:
        compiler, texts = options.prefix / "bin/mpicc", Path(__file__).parent / "texts.c"
        subprocess.run([compiler, "-shared", "-fPIC", texts, "-o", options.keep / "texts.so"], check=True)
        programs += of_intel(options.intel)
    programs = [program for program in programs if re.search(options.only, f"{program.category} {program.name}")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda program: verdict(program, options), programs))
    table(results, options.list)
    if options.reasons and explained(results, options):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
