#include "tests/support/property.h"

#include <gtest/gtest.h>
#include <rapidcheck/detail/Configuration.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>
#include <unordered_map>

#include "core/math/digest.h"

namespace elastic::test {
namespace {

using rc::detail::SuccessResult;

// What RC_PARAMS says, and the property's own wishes where it says nothing.
rc::detail::TestParams params_for(const std::string& sentence, const PropertyOptions& options,
                                  std::string_view environment) {
  rc::detail::TestParams params;
  if (!environment.empty()) params = rc::detail::configuration().testParams;
  const auto says = [&](std::string_view key) {
    return environment.find(key) != std::string_view::npos;
  };
  if (!says("seed=")) {
    params.seed = 0;
    for (const char letter : sentence) {
      params.seed = math::mix(params.seed + static_cast<unsigned char>(letter) + 1);
    }
  }
  if (!says("max_success=")) params.maxSuccess = options.max_success;
  if (!says("max_size=")) params.maxSize = options.max_size;
  if (!says("max_discard_ratio=")) params.maxDiscardRatio = options.max_discard_ratio;
  return params;
}

int cases_in(const std::string& wanted, const SuccessResult& result) {
  const std::string quoted = rc::toString(wanted);  // the macros store texts as they are shown
  int cases = 0;
  for (const auto& [tags, count] : result.distribution) {
    if (std::find(tags.begin(), tags.end(), quoted) != tags.end()) cases += count;
  }
  return cases;
}

}  // namespace

void check_property(const std::string& sentence, const std::vector<std::string>& classes,
                    const rc::detail::Property& property, const PropertyOptions& options) {
  const char* set = std::getenv("RC_PARAMS");
  const std::string environment = set == nullptr ? "" : set;
  const rc::detail::TestParams params = params_for(sentence, options, environment);
  std::unordered_map<std::string, rc::detail::Reproduce> reproduce;
  if (!environment.empty()) reproduce = rc::detail::configuration().reproduce;
  rc::detail::TestListenerAdapter silent;
  const rc::detail::TestMetadata metadata{sentence, sentence};
  const auto result = rc::detail::checkProperty(property, metadata, params, silent, reproduce);

  if (!result.is<SuccessResult>()) {
    std::ostringstream message;
    rc::detail::printResultMessage(result, message);
    ADD_FAILURE() << sentence << '\n'
                  << message.str() << "\nrepeat with RC_PARAMS=\"seed=" << params.seed << '"';
    return;
  }
  const SuccessResult& success = result.get<SuccessResult>();
  for (const std::string& wanted : classes) {
    const int cases = cases_in(wanted, success);
    std::cout << sentence << ": " << cases << " of " << success.numSuccess << " cases are '"
              << wanted << "'\n";
    if (cases == 0) {
      ADD_FAILURE() << sentence << ": no case of the class '" << wanted << "' among "
                    << success.numSuccess
                    << "; widen the generator, or give the property a larger max_success";
    }
  }
}

}  // namespace elastic::test
