#include "transport/real/process/leftovers.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <set>
#include <sstream>

#include "transport/real/process/descriptor.h"

namespace elastic::real {
namespace {

constexpr Duration kLookAgain = std::chrono::milliseconds(2);

std::string list_file(const std::string& state_folder) { return state_folder + "/supervisors"; }

class LeftoverKiller : public std::enable_shared_from_this<LeftoverKiller> {
 public:
  LeftoverKiller(boost::asio::io_context& loop, LeftoversOptions options,
                 std::function<void(const LeftoversResult&)> done)
      : options_(std::move(options)),
        done_(std::move(done)),
        timer_(loop),
        give_up_at_(monotonic_now() + options_.bound),
        supervisors_(read_supervisors(options_.state_folder)),
        spared_(self_and_ancestors()) {}

  void look() {
    left_.clear();
    const std::vector<ProcessStat> table = all_processes();
    for (const ProcessName& supervisor : supervisors_) kill_tree(table, supervisor);
    if (!options_.mark.empty()) {
      for (const ProcessStat& process : carriers(kAgentMark, options_.mark)) kill(process);
    }
    const bool over = monotonic_now() >= give_up_at_;
    if (left_.empty() || over) return finish();
    timer_.expires_after(kLookAgain);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
      if (!failed) self->look();
    });
  }

 private:
  // The supervisor goes last: while it lives, what loses its parent becomes its child.
  void kill_tree(const std::vector<ProcessStat>& table, ProcessName name) {
    const auto supervisor = std::find_if(table.begin(), table.end(), [&](const ProcessStat& p) {
      return p.pid == name.pid && p.start == name.start && !p.zombie();
    });
    if (supervisor == table.end()) return;
    bool alone = true;
    for (const ProcessStat& process : descendants(table, name.pid)) {
      if (process.zombie()) continue;
      alone = false;
      kill(process);
    }
    if (alone) {
      kill(*supervisor);
    } else {
      left_.push_back(*supervisor);
    }
  }

  void kill(const ProcessStat& process) {
    if (std::find(spared_.begin(), spared_.end(), process.pid) != spared_.end()) return;
    signal_process({process.pid, process.start}, SIGKILL);
    killed_.insert({process.pid, process.start});
    left_.push_back(process);
  }

  void finish() {
    LeftoversResult result;
    result.killed = killed_.size();
    for (const ProcessStat& process : left_) {
      result.surviving.push_back(describe_process(process));
    }
    done_(result);
  }

  LeftoversOptions options_;
  std::function<void(const LeftoversResult&)> done_;
  boost::asio::steady_timer timer_;
  Time give_up_at_;
  std::vector<ProcessName> supervisors_;
  std::vector<pid_t> spared_;
  std::set<ProcessName> killed_;
  std::vector<ProcessStat> left_;  // at the last look
};

}  // namespace

std::string write_supervisors(const std::string& state_folder, std::span<const ProcessName> names) {
  std::ostringstream text;
  text << "boot " << boot_id() << '\n';
  for (const ProcessName& name : names) text << name.pid << ' ' << name.start << '\n';
  const int error = replace_file(list_file(state_folder), text.str(), false);
  return error == 0 ? "" : errno_text("cannot write " + list_file(state_folder), error);
}

std::vector<ProcessName> read_supervisors(const std::string& state_folder) {
  std::istringstream text(read_small_file(list_file(state_folder)));
  std::vector<ProcessName> names;
  std::string line;
  if (!std::getline(text, line) || line != "boot " + boot_id()) return names;
  while (std::getline(text, line)) {
    std::istringstream fields(line);
    ProcessName name;
    if (fields >> name.pid >> name.start && name.pid > 1) names.push_back(name);
  }
  return names;
}

void kill_leftovers(boost::asio::io_context& loop, LeftoversOptions options,
                    std::function<void(const LeftoversResult&)> done) {
  const auto killer = std::make_shared<LeftoverKiller>(loop, std::move(options), std::move(done));
  boost::asio::post(loop, [killer] { killer->look(); });
}

}  // namespace elastic::real
