// World size over time, one line of a terminal per zone, with marks for what happened.
#pragma once

#include <string>
#include <vector>

#include "chaos/report/look.h"
#include "chaos/run/result.h"

namespace elastic::chaos {

// Columns 0 to width of each line stand for began..ended. A column shows the mean number of members
// that train in that time, as a share of the zone's machines, in seven heights; "." where machines
// are up and none trains, a blank where none is up.
struct ChartInput {
  const std::vector<ZoneInfo>& zones;
  const std::vector<SizePoint>& sizes;
  const std::vector<PlannedMark>& marks;
  Time began{};
  Time ended{};
};
// Empty when nothing took any time.
std::string chart(const ChartInput& input, const Look& look);

// Marks under `width` columns: an arrow at its column and, where there is room, the label. Rarer
// kinds come first. At most `rows` lines, without indentation; marks that find no room at all are
// left out.
std::vector<std::string> mark_lines(const std::vector<PlannedMark>& marks, Time began, Time ended,
                                    std::size_t width, std::size_t rows, const Look& look);

}  // namespace elastic::chaos
