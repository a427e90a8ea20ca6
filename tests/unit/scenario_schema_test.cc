// The schema that is published is the one that the program prints, and it explains itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "chaos/scenario/schema.h"

namespace elastic::chaos {
namespace {

using Json = nlohmann::ordered_json;

const std::string kPublished = std::string(ELASTIC_SOURCE_DIR) + "/scenarios/schema.json";

TEST(ScenarioSchema, what_is_published_is_what_the_program_prints) {
  if (std::getenv("ELASTIC_REWRITE") != nullptr) std::ofstream(kPublished) << scenario_schema();
  std::stringstream published;
  published << std::ifstream(kPublished).rdbuf();
  EXPECT_TRUE(published.str() == scenario_schema())
      << "scenarios/schema.json is not what `elastic-sim schema` prints; ELASTIC_REWRITE=1 mends "
         "it";
}

// What a reference stands for.
const Json& resolved(const Json& root, const Json& schema) {
  if (!schema.is_object() || !schema.contains("$ref")) return schema;
  const auto text = schema["$ref"].get<std::string>();
  EXPECT_EQ(text.substr(0, 8), "#/$defs/");
  return root.at("$defs").at(text.substr(8));
}

// The keys of all properties below `schema` that say nothing about themselves.
void collect_silent(const Json& root, const Json& schema, const std::string& path,
                    std::set<std::string>& silent, std::size_t& keys) {
  if (!schema.is_structured()) return;
  for (const auto& [name, value] : schema.items()) {
    if (name == "properties" && schema.is_object() && !path.ends_with("/if")) {
      for (const auto& [key, property] : value.items()) {
        if (!property.is_object()) continue;  // forbidden by a rule, or described elsewhere
        ++keys;
        const bool says = property.contains("description") ||
                          resolved(root, property).contains("description") ||
                          property.contains("const");
        if (!says) silent.insert(path + "/" + key);
      }
    }
    collect_silent(root, value, path + "/" + name, silent, keys);
  }
}

TEST(ScenarioSchema, every_key_says_what_it_is_for) {
  const Json root = Json::parse(scenario_schema());
  std::set<std::string> silent;
  std::size_t keys = 0;
  collect_silent(root, root, "", silent, keys);
  EXPECT_GT(keys, 300U);
  EXPECT_TRUE(silent.empty()) << *silent.begin();
}

TEST(ScenarioSchema, what_it_cannot_say_is_listed_in_it) {
  const auto words = Json::parse(scenario_schema())["description"].get<std::string>();
  for (const BeyondSchema& rule : rules_beyond_the_schema()) {
    EXPECT_NE(words.find(rule.name), std::string::npos) << rule.name;
    EXPECT_FALSE(rule.words.empty()) << rule.name;
  }
}

}  // namespace
}  // namespace elastic::chaos
