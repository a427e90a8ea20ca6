// The JSON Schema and the checker agree: on the files of the tree, and on generated documents with
// and without mistakes, judged by an implementation of JSON Schema and a reader of YAML that are
// not ours.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "chaos/scenario/scenario.h"
#include "chaos/scenario/schema.h"
#include "tests/property/scenario_generator.h"
#include "tests/support/effort.h"
#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

namespace fs = std::filesystem;
using rc::gen::inRange;

const std::string kRoot = ELASTIC_SOURCE_DIR;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

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

std::vector<std::string> files_of_the_tree() {
  std::vector<std::string> documents;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot + "/scenarios")) {
    if (entry.path().extension() == ".yaml") documents.push_back(content_of(entry.path()));
  }
  std::sort(documents.begin(), documents.end());
  return documents;
}

// --- documents with mistakes ---

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

void collect(Tree& tree, std::vector<Tree*>& all) {
  all.push_back(&tree);
  for (Tree::Entry& entry : tree.entries) collect(entry.value, all);
}

// Below `count`, all alike: RapidCheck's own choice prefers small numbers in small cases.
std::size_t any(std::size_t count) {
  return *rc::gen::resize(rc::kNominalSize, inRange<std::size_t>(0, count));
}

Tree* some(const std::vector<Tree*>& from) {
  return from.empty() ? nullptr : from[any(from.size())];
}

const std::vector<std::string>& scalars() {
  static const std::vector<std::string> all{"",
                                            "~",
                                            "true",
                                            "7",
                                            "0",
                                            "1",
                                            "-1",
                                            "-0",
                                            "007",
                                            "+5",
                                            "1e3",
                                            "0x10",
                                            "0o7",
                                            "100.0",
                                            "1_000",
                                            "1__0",
                                            "20000",
                                            "20001",
                                            "1024",
                                            "1025",
                                            "1000000",
                                            "1000001",
                                            "1e400",
                                            ".inf",
                                            ".nan",
                                            "90",
                                            "90s",
                                            "1h30min",
                                            "1h30m",
                                            "30m1h",
                                            "1m1min",
                                            "1.5h",
                                            "-5s",
                                            "-0s",
                                            "0s",
                                            "0.1ns",
                                            "5 s",
                                            "1h 30m",
                                            ".5s",
                                            "5.s",
                                            "9999d",
                                            "1s..2s",
                                            "0s..2s",
                                            "2s..1s",
                                            "1s..",
                                            "..2s",
                                            "1s...2s",
                                            "-1s..2s",
                                            "300MiB",
                                            "0B",
                                            "12 GB",
                                            "1.5KB",
                                            "0.1B",
                                            "mib",
                                            "25Gbit/s",
                                            "0GB/s",
                                            "1bit/s",
                                            "8bit/s",
                                            "5%",
                                            "0%",
                                            "101%",
                                            "10ppm",
                                            "0.1ppm",
                                            "-50ppm",
                                            "100000%",
                                            "100001%",
                                            "0.9",
                                            "$1/h",
                                            "$0/h",
                                            "$1",
                                            "$-1/h",
                                            "$1.5/h",
                                            "$1.5 /h",
                                            "auto",
                                            "never",
                                            "native",
                                            "foreign",
                                            "hosted",
                                            "external",
                                            "linear",
                                            "always",
                                            "regular",
                                            "resnet50",
                                            "none",
                                            "gce_2019",
                                            "a0",
                                            "a00",
                                            "b1",
                                            "zone a",
                                            "node a0",
                                            "zone z",
                                            "a",
                                            "coordinator",
                                            "node zone a",
                                            "crash",
                                            "freeze",
                                            "swarm",
                                            "add",
                                            "journal_lost",
                                            "storage_rot",
                                            "messages",
                                            ">= 90%",
                                            ">=90",
                                            "== 0",
                                            "<= 2s",
                                            "< $5",
                                            "<= 5s",
                                            "< -5s",
                                            "=> 5",
                                            "9h",
                                            "100",
                                            "255",
                                            "256",
                                            "1023",
                                            "999999999999",
                                            "99999999999999999999",
                                            "0.000000001s"};
  return all;
}

Tree some_scalar() {
  Tree tree = Tree::scalar(*rc::gen::elementOf(scalars()));
  tree.quoted = any(4) == 0;
  return tree;
}

const std::vector<std::string>& keys() {
  static const std::vector<std::string> all{
      "job",        "cluster",      "faults",   "expect",       "network",
      "journal",    "availability", "nodes",    "min",          "max",
      "model",      "steps",        "epochs",   "dataset",      "every",
      "at",         "from",         "until",    "for",          "ahead",
      "by",         "share",        "code",     "worker",       "save",
      "compute",    "node",         "zone",     "cut",          "kind",
      "kinds",      "chance",       "notice",   "mean_between", "trace",
      "workers",    "size",         "keep",     "batch_mode",   "journal_host",
      "price",      "market",       "at_start", "goodput",      "steps_lost",
      "lost_steps", "recovery_p99", "loss",     "latency",      "window",
      "max_churn",  "margin",       "growth",   "nodse",        "x",
      "horizon"};
  return all;
}

// One mistake, or something that is none.
void change(Tree& root) {
  std::vector<Tree*> all, maps, leaves, full;
  collect(root, all);
  for (Tree* tree : all) {
    if (tree->kind == Tree::Kind::kMap) maps.push_back(tree);
    if (tree->kind == Tree::Kind::kScalar) leaves.push_back(tree);
    if (!tree->entries.empty()) full.push_back(tree);
  }
  switch (any(8)) {
    case 0:
      RC_TAG("a key more");
      if (Tree* map = some(maps)) map->add(*rc::gen::elementOf(keys()), some_scalar());
      return;
    case 1:
      RC_TAG("something missing");
      if (Tree* from = some(full)) {
        const std::size_t index = any(from->entries.size());
        from->entries.erase(from->entries.begin() + static_cast<std::ptrdiff_t>(index));
      }
      return;
    case 2:
      RC_TAG("another key");
      if (Tree* map = some(maps); map != nullptr && !map->entries.empty()) {
        const std::size_t index = any(map->entries.size());
        map->entries[index].key = *rc::gen::elementOf(keys());
      }
      return;
    case 3:
      RC_TAG("another shape");
      if (Tree* tree = some(all)) {
        Tree other = *rc::gen::arbitrary<bool>() ? Tree::list() : Tree::map();
        if (*rc::gen::arbitrary<bool>())
          other.add(other.kind == Tree::Kind::kMap ? "min" : "", *tree);
        *tree = std::move(other);
      }
      return;
    case 4:
      RC_TAG("something of elsewhere");
      if (Tree* from = some(leaves)) {
        const Tree value = *from;
        *some(leaves) = value;
      }
      return;
    default:
      RC_TAG("another value");
      if (Tree* leaf = some(leaves)) *leaf = some_scalar();
  }
}

std::string some_document(const std::vector<std::string>& files) {
  const bool generated = *rc::gen::arbitrary<bool>();
  const std::string text =
      generated ? scenario_to_yaml(test::some_scenario()) : *rc::gen::elementOf(files);
  Tree tree = *parse_tree(text, "base.yaml");
  const int changes = *rc::gen::element(0, 1, 1, 1, 1, 2, 3);
  for (int i = 0; i < changes; ++i) change(tree);
  return written(tree);
}

// --- comparing ---

bool beyond(const std::string& message) {
  const auto& rules = rules_beyond_the_schema();
  return std::any_of(rules.begin(), rules.end(), [&](const BeyondSchema& rule) {
    return std::regex_search(message, std::regex(std::string(rule.messages)));
  });
}

enum class Said { kGood, kBeyond, kBad };

// What the checker says: good, refused for rules alone that a schema cannot state, or bad.
Said checked(const std::string& text) {
  const auto scenario = parse_scenario(text, "mine.yaml");
  if (scenario) return Said::kGood;
  const auto& problems = scenario.error().problems;
  const bool all = std::all_of(problems.begin(), problems.end(),
                               [](const Problem& one) { return beyond(one.message); });
  return all ? Said::kBeyond : Said::kBad;
}

std::string why(const std::string& text) {
  const auto scenario = parse_scenario(text, "mine.yaml");
  return scenario ? "ok\n" : scenario.error().text();
}

TEST(ScenarioSchemaAgrees, every_file_of_the_tree_is_valid) {
  const std::vector<std::string> files = files_of_the_tree();
  ASSERT_GT(files.size(), 30U);
  const std::vector<std::string> verdicts = judged(files);
  for (std::size_t i = 0; i < verdicts.size(); ++i) EXPECT_EQ(verdicts[i], "yes") << files[i];
}

TEST(ScenarioSchemaAgrees, the_schema_and_the_checker_refuse_the_same) {
  const std::vector<std::string> files = files_of_the_tree();
  std::vector<std::string> documents;
  std::vector<Said> said;
  const int cases = static_cast<int>(std::max<std::uint64_t>(400, test::scaled(6'000)));
  test::check("documents with and without mistakes",
              {"good", "bad", "beyond", "a key more", "something missing", "another key",
               "another shape", "something of elsewhere", "another value"},
              [&] {
                documents.push_back(some_document(files));
                said.push_back(checked(documents.back()));
                if (said.back() == Said::kGood) RC_TAG("good");
                if (said.back() == Said::kBad) RC_TAG("bad");
                if (said.back() == Said::kBeyond) RC_TAG("beyond");
              },
              {.max_success = cases});
  const std::vector<std::string> verdicts = judged(documents);
  int shown = 0;
  for (std::size_t i = 0; i < verdicts.size() && shown < 10; ++i) {
    const bool yes = verdicts[i] == "yes";
    if (said[i] == Said::kBeyond || yes == (said[i] == Said::kGood)) continue;
    ADD_FAILURE() << documents[i] << "\nschema: " << verdicts[i]
                  << "\nchecker: " << why(documents[i]);
    ++shown;
  }
}

// The least scenario, with something in the place of its cluster and more keys of its job.
std::string small(const std::string& job, const std::string& rest = "",
                  const std::string& zone = "nodes: 4") {
  return fmt::format(
      "job: {{nodes: {{min: 2, max: 4}}, model: resnet50, steps: 100{}}}\n"
      "cluster: {{zones: {{a: {{{}}}}}}}\n{}",
      job, zone, rest);
}

std::string fault(const std::string& line) { return small("", "faults: [{" + line + "}]\n"); }

struct Example {
  std::string_view rule;
  std::string text;
};

std::vector<Example> examples() {
  return {
      {"upper bounds of quantities", small(", checkpoint: {every: 500d}")},
      {"upper bounds of quantities", fault("at: 1h, kind: loss, cut: [a0], for: 1s, share: 200%")},
      {"upper bounds of quantities", small(", start_up: 99999999999999999999s")},
      {"exactness", small(", start_up: 0.1ns")},
      {"spelling of numbers", small(", max_restarts: 1e1")},
      {"spelling of numbers", small(", max_restarts: -0")},
      {"order", small("", "", "nodes: 4, at_start: 5")},
      {"order", fault("every: 1h, kind: crash, for: 2s..1s")},
      {"names", fault("at: 1h, kind: crash, node: a9")},
      {"names", small("", "availability: {trace: nowhere.csv}\n")},
      {"repetition", fault("at: 1h, kind: crash, nodes: [a1, node a1]")},
      {"sums", small("", "", "nodes: 1")},
      {"sums", fault("every: 1ns, kind: crash")},
      {"bounds of the job", small(", detection_target: 1ms")},
      {"bounds of the job", small("", "network: {latency: 20ms}\n")},
      {"batch", small(", global_batch: 10, batch_mode: linear, reference_world: 4")},
      {"empty steps",
       "job: {nodes: {min: 1, max: 1}, model: {compute_per_sample: 0s, gradient: 1B, state: 1B}, "
       "steps: 1}\ncluster: {zones: {a: {nodes: 1}}}\n"},
      {"markets and presence", small("", "", "nodes: 4, at_start: 3, market: gce_2019")},
      {"faults and jobs", small(", journal: external", "faults: [{at: 1h, kind: journal_lost}]\n")},
      {"faults and jobs", small(", workers: foreign", "faults: [{at: 1h, kind: storage_rot}]\n")},
  };
}

// A rule that the schema could state after all does not belong on the list.
TEST(ScenarioSchemaAgrees, each_rule_beyond_the_schema_is_one) {
  std::vector<std::string> documents{small("")};
  for (const Example& one : examples()) documents.push_back(one.text);
  const std::vector<std::string> verdicts = judged(documents);
  ASSERT_EQ(verdicts.size(), documents.size());
  EXPECT_EQ(checked(documents[0]), Said::kGood) << why(documents[0]);
  for (const std::string& verdict : verdicts) EXPECT_EQ(verdict, "yes");
  for (const BeyondSchema& rule : rules_beyond_the_schema()) {
    const std::regex messages{std::string(rule.messages)};
    int shown = 0;
    for (const Example& one : examples()) {
      if (one.rule != rule.name) continue;
      ++shown;
      const auto scenario = parse_scenario(one.text, "mine.yaml");
      ASSERT_FALSE(scenario) << one.text;
      for (const Problem& problem : scenario.error().problems) {
        EXPECT_TRUE(std::regex_search(problem.message, messages)) << problem.message;
      }
    }
    EXPECT_GT(shown, 0) << rule.name;
  }
}

}  // namespace
}  // namespace elastic::chaos
