#!/usr/bin/env python3
"""The rules of the tree that a machine can keep: what includes what, banned words, sizes, formatting.

usage: tidy.py [--root DIR] [--cache DIR] [--json FILE] [RULE...]
Prints `file:line: what is wrong; what to do`, one line per finding. Exit 0: clean, 1: findings, 2: usage.
Each rule is a function in RULES that yields findings; tests/tidy/tidy_test.py plants a violation for each.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SKIPPED_FOLDERS = {"build", "runs", "__pycache__"}
CPP = {".cc", ".h"}
# Each area may include itself and what stands to the right of it.
MAY_INCLUDE = {
    "apps": {"apps", "chaos", "trainer", "transport", "core"},
    "chaos": {"chaos", "transport", "core"},
    "trainer": {"trainer", "transport", "core"},
    "transport": {"transport", "core"},
    "core": {"core"},
}
AREAS = set(MAY_INCLUDE) | {"tests"}
STANDARD_HEADER = re.compile(r"^[a-z_0-9]+$")  # <vector>, and not <yaml-cpp/yaml.h>
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
STRICT = ("core/", "transport/sim/")  # where the same seed must give the same bits in every build

# (pattern, where, what to do). "*_tabulate*" files turn float models into integers when a scenario is
# loaded; the entries marked with True do not apply to them.
LIBM = r"(?:sqrt|cbrt|pow|exp|exp2|log|log2|log10|sin|cos|floor|ceil|round|lround|fabs)"
LIBM_ALONE = r"(?:sqrt|cbrt|pow|exp2|log2|log10|lround|fabs)"  # the others are words of ours, too
BANNED = [
    (r"\bstd::unordered_\w+", STRICT, "its order differs between builds; use a sorted container", False),
    (r"#\s*include\s*<random>", STRICT, "its distributions differ between builds; use core/math/random.h", False),
    (r"\bstd::hash\b", STRICT, "it differs between builds; use core/math/digest.h", False),
    (r"#\s*include\s*<(?:cmath|math\.h)>", STRICT, "libm differs between builds; use core/math", True),
    (rf"\bstd::{LIBM}\s*\(|(?<![\w.>:]){LIBM_ALONE}\s*\(", STRICT, "libm differs between builds; use core/math/integer.h", True),
    (r"\b(?:float|double)\b", STRICT, "use integers (ppm, ns, Q32.32), or tabulate at load in a *_tabulate* file", True),
    (r"(?<![\w.>])(?:std::)?s?rand\s*\(", STRICT, "chance is an input; use core/math/random.h", False),
    (r"\bsystem_clock\b", STRICT, "time is an input", False),
    (r"\bsteady_clock::now\b", STRICT, "time is an input", False),
    (r"\bstd::j?thread\b", STRICT, "machines are single-threaded; the driver owns the threads", False),
    (r"\bstd::(?:multi)?(?:map|set)<\s*(?:const\s+)?[\w:]+(?:\s+const)?\s*\*", STRICT,
     "the order of pointers differs between runs; use an id as key", False),
    (r"\bstd::function\b", ("core/",), "a call costs 18 ns; use a template or a plain function", False),
    (r"\bthrow\b", ("core/",), "core never throws; return an error value, or assert", False),
    (r"\btry\s*\{", ("core/",), "core never throws, so there is nothing to catch", False),
    (r"#\s*include\s*<(?:iostream|fstream|thread|mutex|filesystem)>", ("core/",), "core calls nothing outside", False),
]
CORE_LINES, OTHER_LINES, FUNCTION_LINES, COLUMNS = 600, 700, 100, 100


class Source:
    """A file with its text, and the text with comments and literals blanked out (lines stay lines)."""

    def __init__(self, root, path):
        self.path = path
        self.text = (root / path).read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.splitlines()
        self._code = None

    @property
    def code(self):
        if self._code is None:
            self._code = blank_literals(self.text)
        return self._code

    def includes(self):
        for number, line in enumerate(self.lines, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found.group(1), found.group(2)


LITERALS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^(\s]*)\(.*?\)(?P=d)"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r'|"(?:\\.|[^"\\\n])*"', re.S)


def blank_literals(text):
    def blank(match):
        if re.match(r'\s*#\s*include', text[text.rfind("\n", 0, match.start()) + 1:match.start()] or " "):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))
    return LITERALS.sub(blank, text)


class Tree:
    def __init__(self, root, cache):
        self.root = Path(root).resolve()
        self.cache_folder = Path(cache) if cache else self.root / "build" / "tidy"
        self.files = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
            for name in sorted(names):
                self.files.append((Path(folder) / name).relative_to(self.root).as_posix())
        self._sources = {}

    def source(self, path):
        if path not in self._sources:
            self._sources[path] = Source(self.root, path)
        return self._sources[path]

    def cpp(self, *prefixes):
        for path in self.files:
            in_area = path.split("/")[0] in AREAS
            if in_area and Path(path).suffix in CPP and (not prefixes or path.startswith(prefixes)):
                yield self.source(path)

    def closure_digest(self, path, salt):
        """Changes whenever the file, or one of ours that it includes directly or not, changes."""
        seen, pending = set(), [path]
        while pending:
            current = pending.pop()
            if current in seen or not (self.root / current).is_file():
                continue
            seen.add(current)
            pending += [name for _, kind, name in self.source(current).includes() if kind == '"']
        digest = hashlib.sha256(salt.encode())
        for name in sorted(seen):
            digest.update(name.encode() + b"\0" + self.source(name).text.encode() + b"\0")
        return digest.hexdigest()


class Cache:
    """Which digests passed before: findings are never cached, so they are always shown again."""

    def __init__(self, folder, name):
        self.file = folder / f"{name}.json"
        try:
            self.passed = set(json.loads(self.file.read_text()))
        except (OSError, ValueError):
            self.passed = set()

    def save(self, current):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.file.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps(sorted(current)))
        scratch.replace(self.file)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def dependency_direction(tree):
    """apps -> chaos, trainer -> transport -> core; transport/sim and transport/real stay apart."""
    for source in tree.cpp():
        area = source.path.split("/")[0]
        if area == "tests":
            continue
        for number, kind, name in source.includes():
            target = name.split("/")[0]
            if kind == '"' and "/" not in name:
                yield f'{source.path}:{number}: "{name}" is not a path from the root; write "folder/{name}"'
            elif target in AREAS and target not in MAY_INCLUDE[area]:
                yield (f"{source.path}:{number}: {area}/ includes {name}; arrows go apps -> chaos, trainer -> "
                       "transport -> core: move the shared part down")
            for one, other in (("transport/sim/", "transport/real/"), ("transport/real/", "transport/sim/")):
                if source.path.startswith(one) and name.startswith(other):
                    yield f"{source.path}:{number}: {one} includes {name}; put what both need into core/ or transport/wire/"


def core_uses_the_standard_library_alone(tree):
    """core/ includes core/ and C++ standard headers."""
    for source in tree.cpp("core/"):
        for number, kind, name in source.includes():
            if kind == "<" and not STANDARD_HEADER.match(name):
                yield f"{source.path}:{number}: core/ includes <{name}>; only C++ standard headers are allowed here"


def banned_words(tree):
    """What differs between builds, or calls out, is not in core/ and transport/sim/."""
    for source in tree.cpp(*STRICT):
        tabulates = "_tabulate" in source.path
        for pattern, where, advice, unless_tabulated in BANNED:
            if not source.path.startswith(where) or (tabulates and unless_tabulated):
                continue
            for found in re.finditer(pattern, source.code):
                word = found.group(0).strip()
                yield f"{source.path}:{line_of(source.code, found.start())}: `{word}` is banned here: {advice}"


def one_draw_per_expression(tree):
    """Compilers evaluate arguments in different orders."""
    for source in tree.cpp("core/", "transport/sim/", "chaos/"):
        for statement in re.finditer(r"[^;{}]+", source.code):
            draws = list(re.finditer(r"\bdraw\s*\(", statement.group(0)))
            if len(draws) > 1:
                at = statement.start() + draws[1].start()
                yield f"{source.path}:{line_of(source.code, at)}: two draws in one expression; name the first one in its own statement"


def file_size(tree):
    """A file that nobody can hold in mind is two files."""
    for source in tree.cpp():
        limit = CORE_LINES if source.path.startswith("core/") else OTHER_LINES
        if len(source.lines) > limit:
            yield f"{source.path}:{limit + 1}: {len(source.lines)} lines, at most {limit} here; split it by idea"


CONTROL = re.compile(r"^(?:if|for|while|switch|catch|do|else|return|namespace|class|struct|enum|union|extern)\b")


def function_size(tree):
    """Reports functions above 100 lines; about 70 is the aim."""
    for source in tree.cpp():
        code = re.sub(r"^[ \t]*#[^\n]*", lambda m: " " * len(m.group(0)), source.code, flags=re.M)
        stack, head, inside = [], 0, None
        for match in re.finditer(r"[;{}]", code):
            sign, at = match.group(0), match.start()
            if sign == "{":
                text = re.sub(r"^(?:\s|template\s*<[^{;]*>|\w+\s*:(?!:))*", "", code[head:at])
                is_function = ("(" in text and not CONTROL.match(text) and inside is None
                               and not re.search(r"=\s*$", text))
                stack.append(is_function)
                if is_function:
                    inside = (len(stack), head + len(code[head:at]) - len(code[head:at].lstrip()))
            elif sign == "}" and stack:
                if inside and inside[0] == len(stack):
                    first, last = line_of(code, inside[1]), line_of(code, at)
                    if last - first + 1 > FUNCTION_LINES:
                        yield (f"{source.path}:{first}: a function of {last - first + 1} lines, at most {FUNCTION_LINES}; "
                               "split it where a comment would name the parts")
                    inside = None
                stack.pop()
            head = match.end()


def line_width(tree):
    """100 columns."""
    for source in tree.cpp():
        for number, line in enumerate(source.lines, 1):
            if len(line) > COLUMNS and not INCLUDE.match(line) and "://" not in line:
                yield f"{source.path}:{number}: {len(line)} columns, at most {COLUMNS}; wrap it"


def pragma_once(tree):
    """The first line of a header that is not a comment is #pragma once."""
    for source in tree.cpp():
        if source.path.endswith(".h"):
            code = blank_literals(source.text).strip()
            if not code.startswith("#pragma once"):
                yield f"{source.path}:1: does not start with `#pragma once`; add it"


def headers_stand_alone(tree):
    """Each header compiles by itself. Passed ones are remembered by content."""
    compiler = shutil.which("g++")
    if not compiler:
        return
    generated = tree.cache_folder / "generated"
    protos = [path for path in tree.files if path.endswith(".proto")]
    if protos:
        generated.mkdir(parents=True, exist_ok=True)
        subprocess.run(["protoc", f"--proto_path={tree.root}", f"--cpp_out={generated}", *protos],
                       check=True, cwd=tree.root)
    salt = "".join(tree.source(path).text for path in protos)
    digests = {s.path: tree.closure_digest(s.path, salt) for s in tree.cpp() if s.path.endswith(".h")}
    cache = Cache(tree.cache_folder, "headers")
    pending = [path for path, digest in digests.items() if digest not in cache.passed]

    def compile_alone(path):
        done = subprocess.run(
            [compiler, "-fsyntax-only", "-std=c++20", f"-I{tree.root}", "-isystem", str(generated),
             "-x", "c++", "-include", str(tree.root / path), "/dev/null"],
            capture_output=True, text=True)
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        return path, done.returncode, errors[0] if errors else done.stderr.strip()[:300]

    failed = set()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        for path, code, error in pool.map(compile_alone, pending):
            if code != 0:
                failed.add(path)
                yield f"{path}:1: does not compile by itself; include what it uses ({error})"
    cache.save({digest for path, digest in digests.items() if path not in failed})


def formatting(tree):
    """As clang-format 14 (Debian 12) lays it out; other versions differ, and are not asked."""
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not tool:
        return
    version = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout
    if not re.search(r"version 14\.", version):
        return
    style = (tree.root / ".clang-format").read_text() if (tree.root / ".clang-format").exists() else ""
    digests = {s.path: hashlib.sha256((style + s.path + s.text).encode()).hexdigest() for s in tree.cpp()}
    cache = Cache(tree.cache_folder, "formatting")
    pending = [path for path, digest in digests.items() if digest not in cache.passed]
    failed = {}

    def check(part):
        done = subprocess.run([tool, "--dry-run", "-Werror", *part], cwd=tree.root, capture_output=True, text=True)
        return re.findall(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", done.stderr, re.M)

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        for found in pool.map(check, [pending[i:i + 10] for i in range(0, len(pending), 10)]):
            for path, number in found:
                failed.setdefault(path, number)
    for path, number in sorted(failed.items()):
        yield f"{path}:{number}: not formatted; run tools/format"
    cache.save({digest for path, digest in digests.items() if path not in failed})


def folders_have_a_readme(tree):
    """Ten lines that say what lives there, what may depend on it, where a reader starts."""
    wanted = set()
    for path in tree.files:
        parts = path.split("/")
        if len(parts) > 2 and parts[0] in {"core", "transport", "apps", "tests"}:
            wanted.add("/".join(parts[:2]))
        if len(parts) > 1 and parts[0] == "chaos":
            wanted.add("chaos")
    for folder in sorted(wanted):
        if f"{folder}/README.md" not in tree.files:
            yield f"{folder}:1: no README.md; say in ten lines what lives there, what may depend on it, where to start"


RULES = [dependency_direction, core_uses_the_standard_library_alone, banned_words, one_draw_per_expression, file_size,
         function_size, line_width, pragma_once, headers_stand_alone, formatting, folders_have_a_readme]


def main():
    names = [rule.__name__ for rule in RULES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=Path(__file__).resolve().parents[2])
    parser.add_argument("--cache", help="where results are remembered (default: build/tidy)")
    parser.add_argument("--json", help="write one result per rule to this file")
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(names))
    options = parser.parse_args()
    unknown = [name for name in options.rules if name not in names]
    if unknown:
        parser.error(f"no rule {unknown[0]}; there are {', '.join(names)}")
    tree = Tree(options.root, options.cache)
    results = []
    for rule in RULES:
        if options.rules and rule.__name__ not in options.rules:
            continue
        found = sorted(set(rule(tree)))
        print("\n".join(found), end="\n" if found else "")
        results.append({"name": f"tidy.{rule.__name__}", "failed": bool(found), "message": "\n".join(found)})
    if options.json:
        Path(options.json).write_text(json.dumps(results))
    return 1 if any(result["failed"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
