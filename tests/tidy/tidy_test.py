#!/usr/bin/env python3
"""Plants a violation of each rule of tidy.py in a scratch tree and checks that it is found, and where.

usage: tidy_test.py [--json FILE]
"""
import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tidy  # noqa: E402

CLEAN = "#pragma once\n\n#include <vector>\n\nnamespace elastic {\n\nint one();\n\n}  // namespace elastic\n"
LONG_FUNCTION = "int f() {\n" + "  g();\n" * 100 + "  return 1;\n}\n"
FIT_FUNCTION = "int f() {\n" + "  g();\n" * 90 + "  return 1;\n}\n"

# (rule, file, text, line of the finding, or None where nothing may be found)
CASES = [
    ("dependency_direction", "core/math/a.h", '#pragma once\n#include "transport/sim/world.h"\n', 2),
    ("dependency_direction", "transport/sim/a.cc", '#include "chaos/oracle.h"\n', 1),
    ("dependency_direction", "transport/sim/a.cc", '#include "transport/real/loop.h"\n', 1),
    ("dependency_direction", "transport/real/a.cc", '#include "transport/sim/world.h"\n', 1),
    ("dependency_direction", "chaos/a.cc", '#include "apps/elastic-sim/report.h"\n', 1),
    ("dependency_direction", "chaos/a.cc", '#include "oracle.h"\n', 1),
    ("dependency_direction", "chaos/a.cc", '#include "transport/sim/world.h"\n', None),
    ("core_uses_the_standard_library_alone", "core/a.cc", "#include <yaml-cpp/yaml.h>\n", 1),
    ("core_uses_the_standard_library_alone", "core/a.cc", "#include <unistd.h>\n", 1),
    ("core_uses_the_standard_library_alone", "core/a.cc", "#include <vector>\n", None),
    ("banned_words", "core/a.cc", "\nstd::unordered_map<int, int> m;\n", 2),
    ("banned_words", "transport/sim/a.cc", "#include <random>\n", 1),
    ("banned_words", "core/a.cc", "auto h = std::hash<int>{}(1);\n", 1),
    ("banned_words", "core/a.cc", "#include <cmath>\n", 1),
    ("banned_words", "core/a.cc", "auto r = std::sqrt(2);\n", 1),
    ("banned_words", "core/a.cc", "auto r = log2(8);\n", 1),
    ("banned_words", "core/a.cc", "auto r = isqrt(8) + log2_q32(8) + table.round(3);\n", None),
    ("banned_words", "core/a.cc", "const Round& round() const;\n", None),
    ("banned_words", "core/a.cc", "double x = 0;\n", 1),
    ("banned_words", "core/a.cc", "// a double meaning\nauto s = \"float\";\n", None),
    ("banned_words", "transport/sim/step_tabulate.cc", "double x = std::sqrt(2.0);\n", None),
    ("banned_words", "core/a.cc", "int r = rand();\n", 1),
    ("banned_words", "transport/sim/a.cc", "auto t = std::chrono::system_clock::now();\n", 1),
    ("banned_words", "transport/sim/a.cc", "auto t = std::chrono::steady_clock::now();\n", 1),
    ("banned_words", "transport/sim/a.cc", "std::thread t;\n", 1),
    ("banned_words", "core/a.cc", "std::map<const Node*, int> m;\n", 1),
    ("banned_words", "core/a.cc", "std::map<int, Node*> m;\n", None),
    ("banned_words", "core/a.cc", "std::function<void()> f;\n", 1),
    ("banned_words", "transport/sim/a.cc", "std::function<void()> f;\n", None),
    ("banned_words", "core/a.cc", "void f() {\n  throw 1;\n}\n", 2),
    ("banned_words", "core/a.cc", "void f() {\n  try {\n  }\n}\n", 2),
    ("banned_words", "core/a.cc", "#include <iostream>\n", 1),
    ("banned_words", "chaos/a.cc", "double x = std::sqrt(2.0);\n", None),
    ("one_draw_per_expression", "transport/sim/a.cc", "f(draw(s, t, 1),\n  draw(s, t, 2));\n", 2),
    ("one_draw_per_expression", "core/a.cc", "auto a = draw(s, t, 1);\nauto b = draw(s, t, 2);\n", None),
    ("file_size", "core/a.cc", "int a;\n" * 601, 601),
    ("file_size", "core/a.cc", "int a;\n" * 600, None),
    ("file_size", "chaos/a.cc", "int a;\n" * 701, 701),
    ("function_size", "chaos/a.cc", "\n" + LONG_FUNCTION, 2),
    ("function_size", "tests/unit/a.cc", "namespace elastic {\n" + LONG_FUNCTION + "}\n", 2),
    ("function_size", "chaos/a.cc", "namespace elastic {\n" + FIT_FUNCTION + FIT_FUNCTION + "}\n", None),
    ("function_size", "chaos/a.h", "class A {\n" + FIT_FUNCTION + FIT_FUNCTION + "};\n", None),
    ("line_width", "chaos/a.cc", "int a;\n// " + "x" * 98 + "\n", 2),
    ("pragma_once", "core/a.h", "#ifndef A\n#define A\n#endif\n", 1),
    ("pragma_once", "core/a.h", "// What this is.\n" + CLEAN, None),
    ("headers_stand_alone", "core/a.h", "#pragma once\nstd::vector<int> numbers();\n", 1),
    ("headers_stand_alone", "core/a.h", CLEAN, None),
    ("formatting", "core/a.h", "#pragma once\n\nint   one( );\n", 3),
    ("formatting", "core/a.h", CLEAN, None),
    ("folders_have_a_readme", "core/math/a.h", CLEAN, 1),
]


def finds(rule, path, text, line):
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / ".clang-format").write_text("BasedOnStyle: Google\nColumnLimit: 100\n")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
        found = list(getattr(tidy, rule)(tidy.Tree(root, root / "cache")))
    if line is None:
        return "" if not found else f"expected no finding, found {found}"
    where = f"{path}:{line}: " if rule != "folders_have_a_readme" else f"{Path(path).parent.as_posix()}:{line}: "
    if not any(finding.startswith(where) for finding in found):
        return f"expected a finding at {where.strip()} found {found}"
    return ""


def a_remembered_header_is_compiled_again_when_what_it_includes_changes():
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "core").mkdir()
        (root / "core/a.h").write_text('#pragma once\n#include "core/b.h"\ninline int a() { return b(); }\n')
        (root / "core/b.h").write_text("#pragma once\nint b();\n")
        before = list(tidy.headers_stand_alone(tidy.Tree(root, root / "cache")))
        (root / "core/b.h").write_text("#pragma once\nint c();\n")
        after = list(tidy.headers_stand_alone(tidy.Tree(root, root / "cache")))
    return "" if not before and after else f"expected [] then a finding, found {before} then {after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", help="write one result per case to this file")
    options = parser.parse_args()
    results = []

    def record(name, problem):
        if problem:
            print(f"{name}: {problem}")
        results.append({"name": name, "failed": bool(problem), "message": problem})

    for number, (rule, path, text, line) in enumerate(CASES):
        verb = "finds the violation in" if line else "accepts"
        record(f"tidy_test.{rule} {verb} case {number} ({path})", finds(rule, path, text, line))
    cached = a_remembered_header_is_compiled_again_when_what_it_includes_changes
    record(f"tidy_test.{cached.__name__}", cached())
    untried = {rule.__name__ for rule in tidy.RULES} - {case[0] for case in CASES if case[3]}
    record("tidy_test.every_rule_has_a_planted_violation", ", ".join(sorted(untried)))
    if options.json:
        Path(options.json).write_text(json.dumps(results))
    return 1 if any(result["failed"] for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
