// What --verify found, for people.
#pragma once

#include <string>

#include "chaos/report/look.h"
#include "chaos/run/verify.h"

namespace elastic::chaos {

std::string verify_section(const VerifyResult& result, const Look& look);

}  // namespace elastic::chaos
