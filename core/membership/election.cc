#include "core/membership/election.h"

#include <algorithm>

#include "core/assert.h"
#include "core/math/random.h"
#include "core/membership/hash.h"

namespace elastic {
namespace {
// Eight silence times: a node that hears too few asks rarely, but still within seconds of a
// healing.
constexpr std::uint32_t kMaxBackOff = 3;
}  // namespace

void Election::start(Time now, AgentId self, std::uint64_t seed,
                     const std::vector<NodeId>& contacts, Effects& effects) {
  self_ = self;
  seed_ = seed;
  known_.insert(contacts.begin(), contacts.end());
  known_.erase(self.node);
  heard_at_ = now;
  // A job that starts has no leader to wait for: the first stands soon.
  arm_silence(now, timeouts_.canvass, timeouts_.election_min, effects);
}

void Election::arm_silence(Time now, Duration base_min, Duration base_max, Effects& effects) {
  const std::uint64_t drawn =
      math::draw(math::Seed{seed_}, math::Stream{0x656c656374ULL}, ++draws_);
  const Duration wait(math::between(drawn, base_min.count(), base_max.count()));
  effects.push_back(ArmTimer{TimerId::kSilence, wait});
  silence_due_ = now + wait;
}

// A candidate asks. Its canvass, its append and one announcement are waited for.
void Election::give_way(Time now, Effects& effects) {
  if (phase_ != Phase::kFollowing && phase_ != Phase::kReading) return;
  const Duration least = timeouts_.canvass + job_.bounds.journal + job_.bounds.round_trip;
  if (gave_way_ || silence_due_ >= now + least) return;
  gave_way_ = true;
  phase_ = Phase::kFollowing;
  arm_silence(now, least, least + timeouts_.election_min / 2, effects);
}

bool Election::live_leader(Time now, Time served_at) const {
  if (phase_ == Phase::kLeading) return now - served_at < timeouts_.election_min;
  return leader_heard_ && now - heard_at_ < timeouts_.election_min;
}

void Election::heard_leader(Time now, Effects& effects) {
  if (phase_ == Phase::kLeading || phase_ == Phase::kAppending) return;
  leader_heard_ = true;
  heard_at_ = now;
  back_off_ = 0;
  gave_way_ = false;
  read_late_ = false;
  phase_ = Phase::kFollowing;
  arm_silence(now, timeouts_.election_min, timeouts_.election_max, effects);
}

// Waits twice as long for each newer leader that was not heard before the next one came: two halves
// that reach the journal but not each other would depose each other before either forms a round.
void Election::new_lead(Time now, Effects& effects) {
  leader_heard_ = false;
  back_off(now, effects);
}

void Election::leader_suspect(Time now, Effects& effects) {
  if (phase_ != Phase::kFollowing) return;
  leader_heard_ = false;
  arm_silence(now, timeouts_.canvass, timeouts_.election_min / 2, effects);
}

void Election::stand_down(Time now, Effects& effects) {
  leader_heard_ = false;
  phase_ = Phase::kFollowing;
  arm_silence(now, timeouts_.election_min, timeouts_.election_max, effects);
}

void Election::on_silence(Time now, JournalClient& journal, Effects& effects) {
  if (phase_ == Phase::kLeading || phase_ == Phase::kAppending) return;
  if (phase_ != Phase::kReading) reading_since_ = now;
  phase_ = Phase::kReading;
  leader_heard_ = false;
  ticket_ = journal.read(now, /*want_contacts=*/true, effects);
  // Without an answer of the journal nobody can lead: ask again after another silence.
  arm_silence(now, timeouts_.election_min, timeouts_.election_max, effects);
}

void Election::on_founding(Time now, std::size_t asked, JournalClient& journal, Effects& effects) {
  if (phase_ != Phase::kFollowing || leader_heard_ || attempt_ > 0) return;
  if (asked >= job_.min_nodes) on_silence(now, journal, effects);
}

void Election::on_read(Time now, const JournalEvent& event, JournalClient& journal,
                       Effects& effects) {
  for (const AgentId& contact : event.contacts) known_.insert(contact.node);
  known_.erase(self_.node);
  if (phase_ != Phase::kReading || event.read_done < ticket_) return;
  if (now - reading_since_ > job_.bounds.journal && !read_late_) {
    read_late_ = true;
    phase_ = Phase::kFollowing;
    // A leader that waited for the same journal acknowledges within that.
    const Duration answer = job_.bounds.round_trip + job_.bounds.pause;
    arm_silence(now, answer, answer + timeouts_.election_min / 2, effects);
    return;
  }
  read_late_ = false;
  const JournalView& view = journal.view();
  if (view.world) {
    for (const Member& member : view.world->members) known_.insert(member.agent.node);
  }
  known_.erase(self_.node);
  phase_ = Phase::kCanvassing;
  ++attempt_;
  gave_way_ = false;
  hearers_.clear();
  somebody_hears_ = false;
  for (const NodeId node : known_) {
    effects.push_back(Send{node, Canvass{self_, attempt_, view.lead}});
  }
  if (known_.empty()) return on_canvass_over(now, journal, effects);
  effects.push_back(ArmTimer{TimerId::kCanvass, timeouts_.canvass});
}

void Election::on_canvass(Time now, const Canvass& canvass, LeadId lead, AgentId leader,
                          Time served_at, Effects& effects) {
  known_.insert(canvass.from.node);
  known_.erase(self_.node);
  Hearing hearing;
  hearing.from = self_;
  hearing.attempt = canvass.attempt;
  hearing.lead_seen = lead;
  hearing.leader = leader;
  hearing.has_live_leader = live_leader(now, served_at);
  effects.push_back(Send{canvass.from.node, hearing});
  if (!hearing.has_live_leader) give_way(now, effects);
}

void Election::on_hearing(Time now, const Hearing& hearing, JournalClient& journal,
                          Effects& effects) {
  if (phase_ != Phase::kCanvassing || hearing.attempt != attempt_) return;
  if (hearing.from.node == self_.node) return;  // itself is counted already
  hearers_.insert(hearing.from.node);
  somebody_hears_ = somebody_hears_ || hearing.has_live_leader;
  const bool all = std::includes(hearers_.begin(), hearers_.end(), known_.begin(), known_.end());
  if (!all) return;
  effects.push_back(CancelTimer{TimerId::kCanvass});
  on_canvass_over(now, journal, effects);
}

void Election::back_off(Time now, Effects& effects) {
  phase_ = Phase::kFollowing;
  back_off_ = std::min(back_off_ + 1, kMaxBackOff);
  const Duration::rep factor = Duration::rep{1} << back_off_;
  arm_silence(now, timeouts_.election_min * factor, timeouts_.election_max * factor, effects);
}

void Election::on_canvass_over(Time now, JournalClient& journal, Effects& effects) {
  if (phase_ != Phase::kCanvassing) return;
  const JournalView& view = journal.view();
  const std::size_t heard = hearers_.size() + 1;
  effects.push_back(
      Note{NoteKind::kCandidate, self_.node, {}, heard, somebody_hears_ ? 1U : 0U, 0});
  if (somebody_hears_ || view.verdict) {
    // Somebody is served, only not this node: ask again in a while.
    stand_down(now, effects);
    return;
  }
  const std::size_t world = view.world ? view.world->members.size() : 0;
  const auto hears = [&](const Member& member) {
    return member.agent.node == self_.node || hearers_.contains(member.agent.node);
  };
  const std::size_t heard_of_world =
      world == 0 ? 0
                 : static_cast<std::size_t>(std::count_if(view.world->members.begin(),
                                                          view.world->members.end(), hears));
  // Where a job is to end if it has too few machines for long, somebody must lead to end it.
  const bool last_resort = heard < job_.health.min_healthy && now - heard_at_ > job_.health.grace;
  if ((heard < job_.min_nodes && !last_resort) || journal.appending()) {
    back_off(now, effects);
    return;
  }
  // Few of the newest World are heard: others may hear more, so let them stand first.
  if (2 * heard_of_world < world && back_off_ == 0) {
    back_off(now, effects);
    return;
  }
  phase_ = Phase::kAppending;
  journal.append(now, Lead{self_}, effects);
}

void Election::won(Time /*now*/, Effects& effects) {
  ELASTIC_ASSERT(phase_ != Phase::kLeading);
  phase_ = Phase::kLeading;
  back_off_ = 0;
  known_.insert(hearers_.begin(), hearers_.end());
  effects.push_back(CancelTimer{TimerId::kSilence});
}

void Election::lost(Time now, Effects& effects) {
  if (phase_ != Phase::kAppending) return;
  phase_ = Phase::kFollowing;
  stand_down(now, effects);
}

void Election::check() const {
  ELASTIC_ASSERT(!known_.contains(self_.node) || !self_);
  ELASTIC_ASSERT(back_off_ <= kMaxBackOff);
  ELASTIC_ASSERT(phase_ != Phase::kReading || ticket_ > 0);
  ELASTIC_ASSERT(phase_ != Phase::kCanvassing || attempt_ > 0);
  ELASTIC_ASSERT(!leader_heard_ || phase_ == Phase::kFollowing || phase_ == Phase::kLeading);
}

std::uint64_t Election::digest() const {
  Hash hash;
  hash(phase_, draws_, attempt_, ticket_, back_off_, leader_heard_, heard_at_, somebody_hears_,
       hearers_, known_, reading_since_, read_late_, silence_due_, gave_way_);
  return hash.value();
}

}  // namespace elastic
