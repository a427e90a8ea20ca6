#include "apps/elastic-run/endpoint.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "chaos/scenario/problem.h"

namespace elastic::launch {
namespace {

std::string quoted(std::string_view text) { return "\"" + chaos::printable(text) + "\""; }

bool is_v4(std::string_view text) {
  std::array<unsigned char, 4> bytes{};
  return inet_pton(AF_INET, std::string(text).c_str(), bytes.data()) == 1;
}

// A zone (`fe80::1%eth0`) may follow.
bool is_v6(std::string_view text) {
  std::array<unsigned char, 16> bytes{};
  const std::size_t zone = text.find('%');
  if (zone != std::string_view::npos) {
    const std::string_view name = text.substr(zone + 1);
    if (name.empty() || name.find_first_of("%[]/ ") != std::string_view::npos) return false;
  }
  return inet_pton(AF_INET6, std::string(text.substr(0, zone)).c_str(), bytes.data()) == 1;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '-' && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

std::string without_brackets(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

}  // namespace

tl::expected<std::uint16_t, std::string> parse_port(std::string_view text) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > 65535) {
    return tl::unexpected(
        fmt::format("{} is not a port; write a number from 0 to 65535", quoted(text)));
  }
  return static_cast<std::uint16_t>(value);
}

tl::expected<std::string, std::string> parse_host(std::string_view text) {
  const std::string bare = without_brackets(text);
  if (is_v4(bare) || is_v6(bare)) return bare;
  if (bare.size() != text.size() || !is_name(bare)) {
    return tl::unexpected(
        fmt::format("{} is neither a host name nor an address; write one such as gpu-0, "
                    "10.0.0.7 or [fd00::7]",
                    quoted(text)));
  }
  return bare;
}

bool names_port(std::string_view endpoint) {
  if (!endpoint.empty() && endpoint.front() == '[') {
    return endpoint.find("]:") != std::string_view::npos;
  }
  return std::count(endpoint.begin(), endpoint.end(), ':') == 1;
}

tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text,
                                                   std::uint16_t default_port) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    return tl::unexpected(fmt::format("{} is a URL; write host:port, without {}", quoted(text),
                                      quoted(text.substr(0, scheme + 3))));
  }
  const bool bracketed = !text.empty() && text.front() == '[';
  if (!bracketed && std::count(text.begin(), text.end(), ':') > 1) {
    return tl::unexpected(
        fmt::format("{} could be an IPv6 address, or one with a port; write it in brackets, as in "
                    "[fd00::7]:{}",
                    quoted(text), default_port));
  }
  std::string_view host = text;
  Endpoint endpoint{.host = {}, .port = default_port};
  if (names_port(text)) {
    const std::size_t colon = text.rfind(':');
    host = text.substr(0, colon);
    const auto port = parse_port(text.substr(colon + 1));
    if (!port) return tl::unexpected(port.error());
    endpoint.port = *port;
  }
  auto parsed = parse_host(host);
  if (!parsed) return tl::unexpected(parsed.error());
  if (bracketed && !is_v6(*parsed)) {
    return tl::unexpected(
        fmt::format("{} has brackets, but no IPv6 address in them", quoted(text)));
  }
  endpoint.host = *std::move(parsed);
  return endpoint;
}

std::string to_text(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", endpoint.host, v6 ? "]" : "", endpoint.port);
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "localhost.localdomain" || host == "ip6-localhost") {
    return true;
  }
  std::array<unsigned char, 4> v4{};
  if (inet_pton(AF_INET, std::string(host).c_str(), v4.data()) == 1) return v4[0] == 127;
  std::array<unsigned char, 16> v6{};
  if (inet_pton(AF_INET6, std::string(host).c_str(), v6.data()) != 1) return false;
  const bool mapped = std::all_of(v6.begin(), v6.begin() + 10, [](auto b) { return b == 0; }) &&
                      v6[10] == 0xff && v6[11] == 0xff;
  if (mapped) return v6[12] == 127;
  return std::all_of(v6.begin(), v6.end() - 1, [](auto b) { return b == 0; }) && v6[15] == 1;
}

}  // namespace elastic::launch
