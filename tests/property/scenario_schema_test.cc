// The JSON Schema and the checker agree: on the files of the tree, and on generated documents with
// and without mistakes, judged by an implementation of JSON Schema and a reader of YAML that are
// not ours.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "chaos/scenario/scenario.h"
#include "chaos/scenario/schema.h"
#include "tests/property/scenario_generator.h"
#include "tests/property/schema_judge.h"
#include "tests/support/effort.h"
#include "tests/support/property.h"

namespace elastic::chaos {
namespace {

namespace fs = std::filesystem;
using rc::gen::inRange;
using test::checked;
using test::expect_agreement;
using test::judged;
using test::Said;
using test::scalars;
using test::written;

const std::string kRoot = ELASTIC_SOURCE_DIR;

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
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
      "horizon",    "table",        "state"};
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

TEST(ScenarioSchemaAgrees, every_file_of_the_tree_is_valid) {
  const std::vector<std::string> files = files_of_the_tree();
  ASSERT_GT(files.size(), 30U);
  const std::vector<std::string> verdicts = judged(files);
  for (std::size_t i = 0; i < verdicts.size(); ++i) EXPECT_EQ(verdicts[i], "yes") << files[i];
}

TEST(ScenarioSchemaAgrees, the_schema_and_the_checker_refuse_the_same) {
  const std::vector<std::string> files = files_of_the_tree();
  std::vector<std::string> documents;
  const int cases = static_cast<int>(std::max<std::uint64_t>(400, test::scaled(6'000)));
  test::check("documents with and without mistakes",
              {"good", "bad", "beyond", "a key more", "something missing", "another key",
               "another shape", "something of elsewhere", "another value"},
              [&] {
                documents.push_back(some_document(files));
                const Said said = checked(documents.back());
                if (said == Said::kGood) RC_TAG("good");
                if (said == Said::kBad) RC_TAG("bad");
                if (said == Said::kBeyond) RC_TAG("beyond");
              },
              {.max_success = cases});
  expect_agreement(documents);
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
      {"tables of step times",
       "job: {nodes: {min: 1, max: 17}, model: resnet50-imagenet, global_batch: 1024, steps: 1}\n"
       "cluster: {zones: {a: {nodes: 17}}}\n"},
      {"tables of step times",
       "job: {nodes: {min: 1, max: 2}, model: bert-squad, global_batch: 2, steps: 1}\n"
       "cluster: {zones: {a: {nodes: 2}}}\n"},
      {"tables of step times",
       "job: {nodes: {min: 1, max: 2}, workers_per_node: 5, model: bert-squad, steps: 1}\n"
       "cluster: {zones: {a: {nodes: 2}}}\n"},
      {"names",
       "job: {nodes: {min: 1, max: 2}, model: {table: nowhere.csv, state: 1GB}, steps: 1}\n"
       "cluster: {zones: {a: {nodes: 2}}}\n"},
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
  EXPECT_EQ(checked(documents[0]), Said::kGood);
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
