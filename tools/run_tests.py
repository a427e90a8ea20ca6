"""Runs the test suites for tools/test and counts: the last line is `N passed, N failed, N skipped`.

A suite is tests/tidy or one GoogleTest binary. Binaries run in shards, as many at a time as there are cores; results
are read from GoogleTest's XML, and a test that a crashed shard leaves without result counts as failed.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = ["tidy", "unit", "interaction", "property", "golden", "mutants", "cli"]  # needs neither sockets nor torch
FOLDERS = [*CORE, "real"]
TIMEOUT_S = int(os.environ.get("ELASTIC_TEST_TIMEOUT_S", "1200"))  # for one shard
CORES = len(os.sched_getaffinity(0))


class Count:
    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def say(text):
    print(text, flush=True)


def run_tidy(scratch):
    """The rules, and the test of the rules: one result each."""
    count, start = Count(), time.monotonic()
    for script in ("tidy_test.py", "tidy.py"):
        results = scratch / f"{script}.json"
        command = [sys.executable, str(ROOT / "tests/tidy" / script), "--json", str(results)]
        cache = os.environ.get("ELASTIC_BUILD_ROOT")
        if script == "tidy.py" and cache:
            command += ["--cache", f"{cache}/tidy"]
        done = subprocess.run(command, capture_output=True, text=True)
        sys.stdout.write(done.stdout)
        if not results.exists():
            say(done.stderr)
            count.add(Count(failed=1))
            continue
        for result in json.loads(results.read_text()):
            count.add(Count(failed=1) if result["failed"] else Count(passed=1))
    say(f"tidy: {count} ({time.monotonic() - start:.1f} s)")
    return count


def build(preset, targets):
    command = [str(ROOT / "tools/build"), preset, *targets]
    return subprocess.run(command, cwd=ROOT).returncode == 0


def names_in(binary):
    """The full names of a binary's tests that GTEST_FILTER leaves; the disabled ones, too."""
    listing = subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True, check=True, cwd=ROOT)
    names, suite = [], ""
    for line in listing.stdout.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            names.append(suite + name.strip())
        elif name.endswith("."):
            suite = name
    return names


class Shard:
    """One process of a binary with a share of its tests."""

    def __init__(self, folder, binary, index, total, scratch):
        self.folder, self.binary, self.index, self.total = folder, binary, index, total
        self.report = scratch / f"{folder}-{index}.xml"
        self.results = {}  # name -> ("passed" | "failed" | "skipped", what to show)
        self.seconds = 0.0

    def run(self):
        environment = dict(os.environ, GTEST_TOTAL_SHARDS=str(self.total), GTEST_SHARD_INDEX=str(self.index),
                           GTEST_COLOR="no")
        start = time.monotonic()
        try:
            done = subprocess.run([self.binary, f"--gtest_output=xml:{self.report}"], cwd=ROOT, env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=TIMEOUT_S)
            output, end = done.stdout, f"exit {done.returncode}"
        except subprocess.TimeoutExpired as expired:
            output, end = expired.stdout or b"", f"stopped after {TIMEOUT_S} s"
        self.seconds = time.monotonic() - start
        output = output.decode(errors="replace")
        if self.report.exists():
            self.read_report(output)
            if end != "exit 0" and not any(kind == "failed" for kind, _ in self.results.values()):
                self.results[f"{self.folder} shard {self.index}"] = ("failed", f"{end} though no test failed\n{output[-20000:]}")
        else:
            self.read_output(output, end)
        return self

    def read_report(self, output):
        for case in xml.parse(self.report).getroot().iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            skip = case.find("skipped")
            if case.get("status") == "notrun":
                kind, text = "failed", "is disabled; run it or remove it"
            elif case.find("failure") is not None:
                kind, text = "failed", output_of(name, output)
            elif skip is not None or case.get("result") == "skipped":
                message = (skip.get("message") or skip.text or "") if skip is not None else ""
                message = message.strip().splitlines()
                # The first line is the place; the message follows.
                reason = next((line for line in message if line.startswith("expected skip:")), "")
                kind, text = ("skipped", reason) if reason else ("failed", "unexpected skip: " + " ".join(message))
            else:
                kind, text = "passed", ""
            self.results[name] = (kind, text)

    def read_output(self, output, end):
        """A shard that died before it wrote its report: what it printed has to do."""
        for name in re.findall(r"^\[       OK \] (\S+)", output, re.M):
            self.results[name] = ("passed", "")
        for name in re.findall(r"^\[ RUN      \] (\S+)", output, re.M):
            if name not in self.results:
                self.results[name] = ("failed", f"{end}\n{output_of(name, output)}")
        if not self.results:
            self.results[f"{self.folder} shard {self.index}"] = ("failed", f"{end}\n{output[-20000:]}")


def output_of(name, output):
    """What was printed while the test ran."""
    start = output.rfind(f"[ RUN      ] {name}\n")
    if start < 0:
        return output[-20000:]
    end = re.compile(rf"^\[  FAILED  \] {re.escape(name)}.*$", re.M).search(output, start)
    return output[start:end.end() if end else len(output)][-20000:]


def run_folders(binaries, scratch):
    """Runs all shards of all binaries; says one line per suite as soon as its last shard is done."""
    total, waiting, shards, expected = Count(), {}, [], {}
    for folder, binary in binaries.items():
        expected[folder] = names_in(binary)
        pieces = max(1, min(len(expected[folder]) // 4, 2 * CORES))
        waiting[folder] = pieces
        shards += [Shard(folder, binary, index, pieces, scratch) for index in range(pieces)]
    results, seconds, done_suites = {folder: {} for folder in binaries}, dict.fromkeys(binaries, 0.0), 0
    with ThreadPoolExecutor(max_workers=CORES) as pool:
        for future in as_completed([pool.submit(shard.run) for shard in shards]):
            shard = future.result()
            results[shard.folder].update(shard.results)
            seconds[shard.folder] += shard.seconds
            for name, (kind, text) in sorted(shard.results.items()):
                if kind == "failed":
                    say(f"FAILED {shard.folder}: {name}\n{text}")
                elif kind == "skipped":
                    say(f"skipped {shard.folder}: {name}: {text}")
            waiting[shard.folder] -= 1
            if waiting[shard.folder] == 0:
                done_suites += 1
                total.add(sum_up(shard.folder, results[shard.folder], expected[shard.folder], seconds[shard.folder],
                                 f"{done_suites}/{len(binaries)}"))
    return total


def sum_up(folder, results, expected, seconds, position):
    unfinished = [name for name in expected if name not in results]
    for name in unfinished:
        say(f"FAILED {folder}: {name}: did not run, because its process ended before")
    kinds = [kind for kind, _ in results.values()]
    count = Count(kinds.count("passed"), kinds.count("failed") + len(unfinished), kinds.count("skipped"))
    say(f"[{position}] {folder}: {count} ({seconds:.1f} s)")
    return count


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/test", description="Runs the tests.")
    parser.add_argument("--preset", default="release", choices=["release", "debug", "asan", "clang"])
    parser.add_argument("--no-tidy", action="store_true", help="leave out the rules of the tree")
    parser.add_argument("what", nargs="*", default=["all"], help="core, all, or folders: " + ", ".join(FOLDERS))
    options = parser.parse_args(arguments)
    chosen = []
    for name in options.what:
        if name not in {"core", "all", *FOLDERS}:
            parser.error(f"no folder '{name}'; there are core, all, {', '.join(FOLDERS)}")
        chosen += CORE if name == "core" else FOLDERS if name == "all" else [name]
    folders = [name for name in FOLDERS if name in chosen]
    if options.no_tidy and "tidy" in folders:
        folders.remove("tidy")
    return options.preset, folders


def main():
    preset, folders = parse(sys.argv[1:])
    total = Count()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        if "tidy" in folders:
            total.add(run_tidy(scratch))
            folders.remove("tidy")
        with_sources = [name for name in folders if any((ROOT / "tests" / name).rglob("*.cc"))]
        if with_sources:
            targets = [f"elastic_{name}_tests" for name in with_sources]
            if build(preset, targets):
                root = Path(os.environ.get("ELASTIC_BUILD_ROOT") or ROOT / "build")
                total.add(run_folders({name: str(root / preset / "bin" / f"elastic_{name}_tests")
                                       for name in with_sources}, scratch))
            else:
                say("FAILED: the tests do not build (see above)")
                total.add(Count(failed=1))
    say(str(total))
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
