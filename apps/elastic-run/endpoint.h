// Where something listens: a host and a port.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace elastic::launch {

constexpr std::uint16_t kDefaultPort = 29400;        // of a rendezvous endpoint, as torchrun's c10d
constexpr std::uint16_t kDefaultMasterPort = 29500;  // of the workers, as torchrun's static

struct Endpoint {
  std::string host;  // a name, or a numeric address; IPv6 without brackets
  std::uint16_t port = kDefaultPort;
  bool operator==(const Endpoint&) const = default;
};

// `host`, `host:port`, `[v6]`, `[v6]:port`; without a port, `default_port`. An IPv6 address without
// brackets is refused: its last group could be a port. The error is a clause that says what was
// found and what to write.
tl::expected<Endpoint, std::string> parse_endpoint(std::string_view text,
                                                   std::uint16_t default_port);
// The same, but told whether the text names a port.
bool names_port(std::string_view endpoint);
// A host alone; brackets around IPv6 may be there or not.
tl::expected<std::string, std::string> parse_host(std::string_view text);
tl::expected<std::uint16_t, std::string> parse_port(std::string_view text);

// Reads back to the same endpoint.
std::string to_text(const Endpoint& endpoint);

// Reaches nobody but this machine: localhost, 127.0.0.0/8, ::1. Names are compared, not resolved.
bool is_loopback(std::string_view host);

}  // namespace elastic::launch
