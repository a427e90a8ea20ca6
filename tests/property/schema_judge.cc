#include "tests/property/schema_judge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

#include "chaos/scenario/scenario.h"
#include "chaos/scenario/schema.h"

namespace elastic::test {
namespace {

namespace fs = std::filesystem;
using namespace chaos;

const std::string kRoot = ELASTIC_SOURCE_DIR;

// The first is empty.
constexpr std::string_view kScalars =
    "|~|true|7|0|1|-1|-0|007|+5|1e3|0x10|0o7|100.0|1_000|1__0|20000|20001|1024|1025|"
    "1000000|1000001|1e400|.inf|.nan|90|90s|1h30min|1h30m|30m1h|1m1min|1.5h|-5s|-0s|0s|"
    "0.1ns|5 s|1h 30m|.5s|5.s|9999d|1s..2s|0s..2s|2s..1s|1s..|..2s|1s...2s|-1s..2s|"
    "300MiB|0B|12 GB|1.5KB|0.1B|mib|25Gbit/s|0GB/s|1bit/s|8bit/s|5%|0%|101%|10ppm|0.1ppm|"
    "-50ppm|100000%|100001%|0.9|$1/h|$0/h|$1|$-1/h|$1.5/h|$1.5 /h|auto|never|native|"
    "foreign|hosted|external|linear|always|regular|resnet50|none|gce_2019|a0|a00|b1|"
    "zone a|node a0|zone z|a|coordinator|node zone a|crash|freeze|swarm|add|journal_lost|"
    "storage_rot|messages|>= 90%|>=90|== 0|<= 2s|< $5|<= 5s|< -5s|=> 5|9h|100|255|256|"
    "1023|999999999999|99999999999999999999|0.000000001s";

bool beyond(const std::string& message) {
  static const std::vector<std::regex> rules = [] {
    std::vector<std::regex> all;
    for (const BeyondSchema& rule : rules_beyond_the_schema()) {
      all.emplace_back(std::string(rule.messages));
    }
    return all;
  }();
  return std::any_of(rules.begin(), rules.end(),
                     [&](const std::regex& rule) { return std::regex_search(message, rule); });
}

std::string why(const std::string& text) {
  const auto scenario = parse_scenario(text, "mine.yaml");
  return scenario ? "ok\n" : scenario.error().text();
}

}  // namespace

// What the schema says of each document: "yes", or "no" and why. Empty when it could not be asked.
std::vector<std::string> judged(const std::vector<std::string>& documents) {
  std::string folder = (fs::temp_directory_path() / "elastic-schema-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return {};
  std::ofstream(folder + "/schema.json") << scenario_schema();
  std::string all;
  for (const std::string& document : documents) {
    if (!all.empty()) all += '\0';
    all += document;
  }
  std::ofstream(folder + "/documents") << all;
  const std::string script = kRoot + "/tests/support/judge_documents.py";
  std::vector<std::string> verdicts;
  // Debian's modules belong to Debian's Python, which need not be the first one.
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::string command =
        fmt::format("cd {0} && {1} {2} schema.json < documents > verdicts", folder, python, script);
    if (std::system(command.c_str()) != 0) continue;
    std::ifstream lines(folder + "/verdicts");
    for (std::string line; std::getline(lines, line);) verdicts.push_back(line);
    break;
  }
  fs::remove_all(folder);
  EXPECT_EQ(verdicts.size(), documents.size())
      << "tests/support/judge_documents.py failed; tools/deps test installs what it needs";
  return verdicts.size() == documents.size() ? verdicts : std::vector<std::string>();
}

Said checked(const std::string& text) {
  const auto scenario = parse_scenario(text, "mine.yaml");
  if (scenario) return Said::kGood;
  const auto& problems = scenario.error().problems;
  const bool all = std::all_of(problems.begin(), problems.end(),
                               [](const Problem& one) { return beyond(one.message); });
  return all ? Said::kBeyond : Said::kBad;
}

void expect_agreement(const std::vector<std::string>& documents) {
  const std::vector<std::string> verdicts = judged(documents);
  int shown = 0;
  for (std::size_t i = 0; i < verdicts.size() && shown < 10; ++i) {
    const Said said = checked(documents[i]);
    if (said == Said::kBeyond || (verdicts[i] == "yes") == (said == Said::kGood)) continue;
    ADD_FAILURE() << documents[i] << "\nschema: " << verdicts[i]
                  << "\nchecker: " << why(documents[i]);
    ++shown;
  }
}

// In one line. Scalars stand as they were written: in quotes, or plain.
std::string written(const Tree& tree) {
  if (tree.kind == Tree::Kind::kScalar) {
    const bool plain =
        !tree.quoted && tree.text.find_first_of(",[]{}:#>=\"' ") == std::string::npos;
    if (plain) return tree.text.empty() ? "~" : tree.text;
    return fmt::format("\"{}\"", tree.text);  // no scenario needs an escape
  }
  const bool map = tree.kind == Tree::Kind::kMap;
  std::string out = map ? "{" : "[";
  for (const Tree::Entry& entry : tree.entries) {
    if (out.size() > 1) out += ", ";
    if (map) out += fmt::format("\"{}\": ", entry.key);
    out += written(entry.value);
  }
  return out + (map ? "}" : "]");
}

const std::vector<std::string>& scalars() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> values;
    std::stringstream list{std::string(kScalars)};
    for (std::string value; std::getline(list, value, '|');) values.push_back(value);
    return values;
  }();
  return all;
}

}  // namespace elastic::test
