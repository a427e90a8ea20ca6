#include "chaos/scenario/schema_texts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace elastic::chaos {
namespace {

Json defined(std::string_view words, const std::string& pattern,
             std::vector<std::string> examples) {
  Json out = Json::object();
  out["description"] = words;
  out["type"] = "string";
  out["pattern"] = fmt::format("^{}$", pattern);
  out["examples"] = std::move(examples);
  return out;
}

}  // namespace

Json quantity_schema(std::string_view name, bool positive) {
  Json out = Json::object();
  out["$ref"] = fmt::format("#/$defs/{}{}", positive ? "positive_" : "", name);
  return out;
}

Json count_schema(Bounds bounds) {
  Json out = Json::object();
  out["type"] = {"integer", "string"};
  out["minimum"] = bounds.low;
  out["maximum"] = bounds.high;
  out["pattern"] = fmt::format("^(?:{})$", count_pattern(static_cast<std::uint64_t>(bounds.low),
                                                         static_cast<std::uint64_t>(bounds.high)));
  return out;
}

Json choice_schema(const std::vector<std::string_view>& names) {
  Json out = Json::object();
  out["enum"] = names;
  return out;
}

Json text_schema(const std::string& pattern) {
  Json out = Json::object();
  out["type"] = "string";
  out["pattern"] = fmt::format("^(?:{})$", pattern);
  return out;
}

std::string positive(const std::string& pattern) { return "(?=.*[1-9])" + pattern; }

Json quantity_definitions() {
  const std::string duration =
      "A length of time: 90s, 1.5h, 1h30min; units d h min s ms us ns, the largest first.";
  const std::string size = "An amount of data: 300MiB, 12GB; units TiB TB GiB GB MiB MB KiB KB B.";
  const std::string rate = "Data per second: 25Gbit/s, 1GB/s.";
  const std::string share = "A share: 5% or 10ppm.";
  const std::string price = "What a machine costs: $0.918/h.";
  Json out = Json::object();
  out["duration"] = defined(duration, unsigned_duration_pattern(), {"90s", "1h30min"});
  out["positive_duration"] =
      defined(duration + " Not zero.", positive(duration_pattern()), {"90s", "1h30min"});
  out["positive_size"] = defined(size, positive(size_pattern()), {"300MiB", "12GB"});
  out["positive_rate"] = defined(rate, positive(rate_pattern()), {"25Gbit/s", "1GB/s"});
  out["share"] = defined(share, share_pattern(), {"5%", "10ppm"});
  out["positive_share"] = defined(share + " Not zero.", positive(share_pattern()), {"5%", "10ppm"});
  out["price"] = defined(price, price_pattern(), {"$0.918/h"});
  return out;
}

}  // namespace elastic::chaos
