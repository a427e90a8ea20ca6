#include "transport/real/process/own_children.h"

#include <sys/wait.h>

#include <mutex>
#include <set>

namespace elastic::real {
namespace {
struct Children {
  std::mutex mutex;  // whatever forks may do so in a thread of its own
  std::set<pid_t> own;
  std::set<pid_t> abandoned;
};
Children& children() {
  static Children instance;
  return instance;
}
}  // namespace

void declare_own_child(pid_t pid) {
  const std::scoped_lock lock(children().mutex);
  children().own.insert(pid);
}

void forget_own_child(pid_t pid) {
  const std::scoped_lock lock(children().mutex);
  children().own.erase(pid);
}

bool is_own_child(pid_t pid) {
  const std::scoped_lock lock(children().mutex);
  return children().own.contains(pid);
}

void abandon_own_child(pid_t pid) {
  {
    const std::scoped_lock lock(children().mutex);
    children().abandoned.insert(pid);
  }
  reap_abandoned();
}

void reap_abandoned() {
  const std::scoped_lock lock(children().mutex);
  std::erase_if(children().abandoned, [](pid_t pid) {
    if (::waitpid(pid, nullptr, WNOHANG) == 0) return false;
    children().own.erase(pid);
    return true;
  });
}

}  // namespace elastic::real
