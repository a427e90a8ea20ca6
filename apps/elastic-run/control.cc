#include "apps/elastic-run/control.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/elastic-run/exit_codes.h"
#include "apps/elastic-run/machine.h"
#include "transport/real/link/client.h"

namespace elastic::launch {
namespace {

using Json = nlohmann::json;

std::string text(const Json& json, const char* key, const char* otherwise = "-") {
  const auto at = json.find(key);
  if (at == json.end() || at->is_null()) return otherwise;
  return at->is_string() ? at->get<std::string>() : at->dump();
}

std::string ranks(const Json& node) {
  const auto first = node.find("first_rank");
  if (first == node.end() || first->is_null()) return "-";
  const auto from = first->get<std::uint64_t>();
  const auto workers = node.value("workers", std::uint64_t{1});
  return workers <= 1 ? std::to_string(from) : fmt::format("{}-{}", from, from + workers - 1);
}

wire::Session question(const Options& options) {
  wire::Command command;
  command.node = options.control.node;
  switch (options.action) {
    case Action::kStop:
      command.kind = wire::Command::Kind::kStop;
      return command;
    case Action::kLeave:
      command.deadline = options.shutdown_timeout;
      return command;
    case Action::kPreempt:
      command.deadline = options.control.deadline.value_or(options.shutdown_timeout);
      return command;
    default:
      return wire::StatusAsk{};
  }
}

// Who leads knows most; the endpoint may be somebody else.
tl::expected<wire::Session, std::string> ask(const Options& options, const std::string& token) {
  real::ClientOptions client;
  client.endpoint = {options.control.endpoint.host, options.control.endpoint.port};
  client.job = options.job_id;
  client.key = real::key_of_job(options.job_id, token);
  return real::ask_agent(client, question(options));
}

}  // namespace

std::string format_status(const std::string& json) {
  const Json status = Json::parse(json, nullptr, false);
  if (!status.is_object()) return "the answer is no status: " + json.substr(0, 200) + "\n";
  std::string out = fmt::format(
      "job {}   round {}   {}\n", text(status, "job"), text(status, "round", "none yet"),
      text(status, "verdict", "").empty() ? text(status, "wait")
                                          : "ended: " + text(status, "verdict"));
  out += fmt::format(
      "  coordinator {} (lead {})   journal record {}   restarts {} of {}, churn {}\n",
      text(status, "leader", "none"), text(status, "lead"), text(status, "record"),
      text(status, "restarts_used", "0"), text(status, "max_restarts"), text(status, "churn", "0"));
  const auto nodes = status.find("nodes");
  if (nodes == status.end() || !nodes->is_array()) {
    return out + fmt::format("  {} does not lead, so it knows no more\n", text(status, "name"));
  }
  out += fmt::format("  {:<24}  {:<12}  {:<10}  {:>8}  {}\n", "node", "ranks", "state", "beat", "");
  for (const Json& node : *nodes) {
    const auto age = node.find("beat_age_ms");
    const std::string beat =
        age == node.end() ? "-" : fmt::format("{:.1f} s", age->get<double>() / 1e3);
    out += fmt::format("  {:<24}  {:<12}  {:<10}  {:>8}  {}\n", text(node, "name").substr(0, 24),
                       ranks(node), text(node, "state"), beat,
                       node.value("leaving", false) ? "leaving" : "");
  }
  return out;
}

int control(const Options& options) {
  std::string token;
  if (!options.token_file.empty()) {
    const auto read = read_token(options.token_file);
    if (!read) {
      fmt::print(stderr, "elastic-run: {}\n", read.error());
      return kExitUsage;
    }
    token = *read;
  } else if (const auto stored = stored_token(options.job_id); stored) {
    token = *stored;
  }
  const auto answer = ask(options, token);
  if (!answer) {
    fmt::print(stderr, "elastic-run: {}\n", answer.error());
    return kExitInfrastructure;
  }
  if (const auto* status = std::get_if<wire::StatusAnswer>(&*answer)) {
    fmt::print("{}", options.control.json ? status->json + "\n" : format_status(status->json));
    return kExitDone;
  }
  if (const auto* done = std::get_if<wire::CommandDone>(&*answer)) {
    fmt::print(done->done ? stdout : stderr, "{}\n", done->text);
    return done->done ? kExitDone : kExitInfrastructure;
  }
  fmt::print(
      stderr,
      "elastic-run: the agent's answer is none to what was asked; is it of another release?\n");
  return kExitInfrastructure;
}

}  // namespace elastic::launch
