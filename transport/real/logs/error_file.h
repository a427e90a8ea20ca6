// torchrun's error files: what torch's @record decorator writes into TORCHELASTIC_ERROR_FILE when a
// program fails with an exception, and what a launcher writes into its own. JSON:
//
//   {"message": {"message": "ValueError: ...", "errorCode": 1,
//                "extraInfo": {"py_callstack": "Traceback ...", "timestamp": "1700000000"}}}
//
// or {"message": "text"} by other writers. The format is PyTorch's
// (torch/distributed/elastic/multiprocessing/errors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace elastic::real {

constexpr std::size_t kLongestErrorFile = std::size_t{1} << 20;  // bytes
constexpr int kDeepestErrorFile = 8;                             // levels that are kept

struct ProgramError {
  std::string message;
  std::string call_stack;                 // empty if it has none
  std::optional<std::int64_t> timestamp;  // seconds since 1970, by the clock of that machine
  std::optional<int> code;                // exit code; minus the signal if it was one
  bool operator==(const ProgramError&) const = default;
};

// The error says what is wrong with the text.
tl::expected<ProgramError, std::string> parse_error_file(std::string_view text);
// None if there is no such file: most programs write none.
tl::expected<std::optional<ProgramError>, std::string> read_error_file(const std::string& path);

std::string format_error_file(const ProgramError& error);
// Replaces the file at once, never half. The error says what could not be written, and why.
tl::expected<void, std::string> write_error_file(const std::string& path,
                                                 const ProgramError& error);

}  // namespace elastic::real
