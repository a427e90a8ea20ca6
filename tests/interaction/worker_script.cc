#include "tests/interaction/worker_script.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/worker/ring.h"
#include "core/worker/worker.h"
#include "transport/sim/replica.h"

namespace elastic::interaction {
namespace {

constexpr JournalLife kLife{1};
constexpr std::uint64_t kElements = sim::kLanes + 1;  // gradient, flags

using Buffer = std::array<std::uint64_t, kElements>;

struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Chunk {
  ChunkHeader header;
  Buffer data{};
};
// What travels on one link, in order.
using Packet = std::variant<Chunk, PeerMessage>;

struct Hand {
  Hand(const TrainingRules& rules, const Timeouts& timeouts) : machine(rules, timeouts) {}

  char name = 'a';
  bool alive = true;
  Worker machine;
  Ring ring;
  std::deque<std::variant<WorkerInput, FetchPart>> answers;  // of its runtime
  bool held_back = false;                                    // its runtime answers nothing
  bool keeps_applying = false;                               // nor says that an update is written
  std::map<ChunkHeader, Buffer> arrived;
  Buffer buffer{};
  sim::Weights weights;
  sim::Lanes own{}, reduced{};
  std::optional<sim::Weights> shadow;
  Progress shadow_progress;
  std::vector<char> around;  // members of its round, by rank
};

class Play {
 public:
  explicit Play(std::ostringstream& out) : out_(out) {
    rules_.data.samples = 1000;
    rules_.data.seed = math::Seed{7};
    rules_.data.max_steps = 100;
    rules_.batch.reference_batch = 24;
    timeouts_.orphan = std::chrono::seconds(60);
  }

  void command(const std::string& line) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    std::vector<std::string> rest;
    for (std::string word; words >> word;) rest.push_back(word);
    if (verb == "workers") return start(rest);
    if (verb == "steps") return static_cast<void>(rules_.data.max_steps = number(rest, 0));
    if (verb == "enter") return enter(rest);
    if (verb == "until") return until(rest);
    if (verb == "quietly") {
      quiet_ = true;
      until({rest.begin() + 1, rest.end()});
      quiet_ = false;
      return;
    }
    if (verb == "settle") return settle();
    if (verb == "hold") return hold(rest);
    if (verb == "release") return release(link(rest));
    if (verb == "busy") return static_cast<void>(of(rest, 0).held_back = true);
    if (verb == "applying") return static_cast<void>(of(rest, 0).keeps_applying = true);
    if (verb == "goes-on") {
      of(rest, 0).held_back = of(rest, 0).keeps_applying = false;
      return;
    }
    if (verb == "leave" || verb == "plan") return leave(rest, verb == "plan");
    if (verb == "kill") return kill(rest);
    if (verb == "show") return show();
    throw Trouble("no command '" + verb + "'");
  }

 private:
  // ---- Commands
  void start(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Hand& hand = hands_.emplace_back(rules_, timeouts_);
      hand.name = name.at(0);
      WorkerEffects effects;
      hand.machine.start(now_, 0, effects);
    }
  }

  // enter ROUND NAMES... scratch | like NAME | save STEP
  void enter(const std::vector<std::string>& words) {
    Placement place;
    place.round = {kLife, number(words, 0)};
    std::vector<char> names;
    std::size_t at = 1;
    for (; at < words.size() && words[at].size() == 1; ++at) names.push_back(words[at][0]);
    const auto size = static_cast<std::uint32_t>(names.size());
    if (at >= words.size() || size == 0) throw Trouble("enter ROUND NAMES... scratch|like NAME");
    if (words[at] == "like") {
      const Hand& holder = hand_of(words.at(at + 1).at(0));
      if (!holder.machine.held()) throw Trouble("it holds nothing");
      place.resume.source = ResumePoint::Source::kHolders;
      place.resume.state = *holder.machine.held();
    }
    place.world_size = place.group_size = size;
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      Hand& hand = hand_of(names[rank]);
      const std::uint32_t before = (rank + size - 1) % size;
      const std::uint32_t after = (rank + 1) % size;
      place.previous = AgentId{NodeId{static_cast<std::uint64_t>(names[before])}, AgentLife{1}};
      place.next = AgentId{NodeId{static_cast<std::uint64_t>(names[after])}, AgentLife{1}};
      place.first_rank = place.group_rank = rank;
      hand.around = names;
      give(hand, TakePlace{place, rank});
    }
  }

  void leave(const std::vector<std::string>& words, bool planned) {
    const RoundId to{kLife, number(words, 0)};
    for (std::size_t i = 1; i < words.size(); ++i)
      give(hand_of(words[i].at(0)), LeaveRound{to, planned});
  }

  void kill(const std::vector<std::string>& words) {
    Hand& dead = of(words, 0);
    dead.alive = false;
    say(dead, "dies");
    for (Hand& hand : hands_) {
      if (!hand.alive || hand.machine.phase() == Worker::Phase::kOutside) continue;
      for (const Side side : {Side::kPrevious, Side::kNext}) {
        if (neighbour(hand, side) != dead.name) continue;
        give(hand, EdgeClosed{hand.machine.placed(), side});
        if (hand.around.size() == 2) break;
      }
    }
  }

  // until step N | until WORKER step N | until WORKER fetches
  void until(const std::vector<std::string>& words) {
    const bool one = words.at(0).size() == 1;
    const std::size_t at = one ? 1 : 0;
    const auto there = [&](const Hand& hand) {
      if (!hand.alive || (one && hand.name != words[0][0])) return true;
      if (words.at(at) == "fetches") return hand.machine.phase() == Worker::Phase::kFetching;
      if (!one && hand.machine.phase() == Worker::Phase::kOutside) return true;
      return hand.machine.held() && hand.machine.held()->step.value >= number(words, at + 1);
    };
    for (int moves = 0; moves < 100'000; ++moves) {
      if (std::all_of(hands_.begin(), hands_.end(), there)) return;
      if (!move()) throw Trouble("nothing happens any more before that");
    }
    throw Trouble("it does not come to that");
  }

  void settle() {
    for (int moves = 0; moves < 1'000'000; ++moves) {
      if (!move()) return;
    }
    throw Trouble("it does not settle");
  }

  void hold(const std::vector<std::string>& words) {
    const bool last = words.size() > 1 && words[1] == "last";
    (last ? held_last_ : held_links_).push_back(link(words));
  }
  void release(const std::pair<char, char>& link) {
    std::erase(held_links_, link);
    std::erase(held_last_, link);
  }
  bool stands(const std::pair<char, char>& link, const Packet& packet) const {
    if (std::find(held_links_.begin(), held_links_.end(), link) != held_links_.end()) return true;
    if (std::find(held_last_.begin(), held_last_.end(), link) == held_last_.end()) return false;
    const auto* chunk = std::get_if<Chunk>(&packet);
    if (chunk == nullptr) return false;
    const std::size_t hops = hand_of_const(link.second).around.size() - 1;
    return chunk->header.phase == ChunkPhase::kCopy && chunk->header.hop + 1 == hops;
  }

  void show() {
    for (const Hand& hand : hands_) {
      if (!hand.alive) continue;
      const auto& held = hand.machine.held();
      std::ostringstream text;
      if (held) {
        char digest[24];
        std::snprintf(digest, sizeof digest, "%08llx",
                      static_cast<unsigned long long>(sim::digest_of(hand.weights) >> 32));
        text << "holds step " << held->step.value << ", entered r" << held->entered.number
             << ", weights " << digest << ", next sample "
             << hand.machine.progress().cursor.consumed;
      } else {
        text << "holds nothing";
      }
      say(hand, text.str());
    }
  }

  // ---- One move: an answer of a runtime, or one packet of one link
  bool move() {
    now_ += std::chrono::milliseconds(1);
    for (Hand& hand : hands_) {
      if (!hand.alive || hand.held_back || hand.answers.empty()) continue;
      const auto answer = hand.answers.front();
      const auto* input = std::get_if<WorkerInput>(&answer);
      if (input != nullptr && std::holds_alternative<StepApplied>(*input) && hand.keeps_applying)
        continue;
      hand.answers.pop_front();
      if (input != nullptr) {
        give(hand, *input);
      } else {
        fetch(hand, std::get<FetchPart>(answer));
      }
      return true;
    }
    for (auto& [link, packets] : links_) {
      if (packets.empty() || stands(link, packets.front())) continue;
      const Packet packet = packets.front();
      packets.pop_front();
      deliver(link, packet);
      return true;
    }
    return false;
  }

  void deliver(const std::pair<char, char>& link, const Packet& packet) {
    Hand& to = hand_of(link.second);
    if (!to.alive) return;
    if (const auto* message = std::get_if<PeerMessage>(&packet)) {
      const Side side =
          neighbour(to, Side::kPrevious) == link.first ? Side::kPrevious : Side::kNext;
      give(to, PeerSays{side, *message});
      return;
    }
    const auto& chunk = std::get<Chunk>(packet);
    to.arrived[chunk.header] = chunk.data;
    RingEffects effects;
    const ChunkFate fate = to.ring.on_chunk(chunk.header, effects);
    if (fate != ChunkFate::kUsed && fate != ChunkFate::kKept) to.arrived.erase(chunk.header);
    carry_out(to, effects);
  }

  void give(Hand& hand, const WorkerInput& input) {
    if (const auto* done = std::get_if<StepApplied>(&input)) {
      sim::apply(hand.weights, hand.reduced, policy::kUnchanged.q32);
      if (!quiet_)
        say(hand, "applies step " + std::to_string(done->step.value) + " in r" +
                      std::to_string(done->round.number));
    }
    WorkerEffects effects;
    hand.machine.step(now_, input, effects);
    hand.machine.check();
    for (const WorkerEffect& effect : effects) take(hand, effect);
  }

  void take(Hand& hand, const WorkerEffect& effect) {
    if (const auto* peer = std::get_if<TellPeer>(&effect)) {
      const char to = neighbour(hand, peer->side);
      if (to != hand.name) links_[{hand.name, to}].push_back(peer->message);
      if (std::holds_alternative<Broken>(peer->message) && peer->side == Side::kNext)
        say(hand, "tells its neighbours that the round is over");
    } else if (const auto* connect = std::get_if<Connect>(&effect)) {
      RingEffects dropped;
      hand.ring.enter(connect->placement.round, {connect->rank, connect->placement.world_size},
                      dropped);
      carry_out(hand, dropped);
      hand.answers.push_back(Connected{connect->placement.round});
    } else if (const auto* part = std::get_if<FetchPart>(&effect)) {
      say(hand, "asks for part " + std::to_string(part->part + 1) + " of " +
                    std::to_string(part->parts) + " from " + neighbour(hand, part->side));
      hand.answers.push_back(*part);
    } else if (const auto* swap = std::get_if<SwapIn>(&effect)) {
      const bool intact = hand.shadow.has_value();
      if (intact) hand.weights = *hand.shadow;
      say(hand, "swaps in step " + std::to_string(swap->state.step.value));
      hand.answers.push_back(SwappedIn{swap->round, intact, hand.shadow_progress});
      hand.shadow.reset();
    } else if (std::holds_alternative<Initialise>(effect)) {
      hand.weights = sim::initial_weights(rules_.data.seed);
    } else if (const auto* start = std::get_if<StartStep>(&effect)) {
      hand.own = sim::gradient(hand.weights, rules_.data.seed, start->batch.epoch, start->share);
      hand.answers.push_back(StepComputed{start->round, start->step});
    } else if (const auto* reduce = std::get_if<ReduceStep>(&effect)) {
      start_ring(hand, *reduce);
    } else if (const auto* apply = std::get_if<ApplyStep>(&effect)) {
      hand.answers.push_back(StepApplied{apply->round, apply->step});
    } else if (std::holds_alternative<CancelRound>(effect)) {
      RingEffects dropped;
      hand.ring.cancel(dropped);
      carry_out(hand, dropped);
      hand.shadow.reset();
    } else if (const auto* copy = std::get_if<CopyState>(&effect)) {
      hand.answers.push_back(CopyMade{copy->round, copy->step});
    } else if (const auto* store = std::get_if<StoreShare>(&effect)) {
      hand.answers.push_back(ShareStored{store->save});
    } else if (const auto* says = std::get_if<TellAgent>(&effect)) {
      told(hand, says->says);
    } else if (std::holds_alternative<EndWorker>(effect)) {
      say(hand, "ends itself");
      hand.alive = false;
    }
  }

  void fetch(Hand& hand, const FetchPart& part) {
    if (hand.machine.placed() != part.round) return;
    const Hand& source = hand_of(neighbour(hand, part.side));
    const bool can =
        source.alive && source.machine.holds_resume() && source.machine.placed() == part.round;
    if (!can) {
      say(hand, std::string("gets nothing from ") + source.name);
      give(hand, FetchFailed{part.round, part.side});
      return;
    }
    if (!hand.shadow) hand.shadow = hand.weights;
    for (std::size_t lane = part.part; lane < sim::kLanes; lane += part.parts)
      hand.shadow->lanes[lane] = source.weights.lanes[lane];
    hand.shadow_progress = source.machine.progress();
    give(hand, PartFetched{part.round, part.part});
  }

  void start_ring(Hand& hand, const ReduceStep& reduce) {
    std::copy(hand.own.begin(), hand.own.end(), hand.buffer.begin());
    hand.buffer.back() = (reduce.flags & kStopAfter) != 0 ? 1 : 0;
    Collective collective;
    collective.id = {reduce.round, reduce.step, 0};
    collective.elements = kElements;
    collective.chunk_elements = kElements;
    RingEffects effects;
    hand.ring.start(collective, effects);
    carry_out(hand, effects);
  }

  void carry_out(Hand& hand, const RingEffects& effects) {
    for (const RingEffect& effect : effects) {
      if (const auto* send = std::get_if<SendChunk>(&effect)) {
        Chunk chunk{send->header, {}};
        for (std::uint64_t i = 0; i < send->header.length; ++i)
          chunk.data[i] = hand.buffer[send->header.offset + i];
        links_[{hand.name, neighbour(hand, Side::kNext)}].push_back(chunk);
      } else if (const auto* add = std::get_if<ReduceChunk>(&effect)) {
        take_data(hand, add->header, true);
      } else if (const auto* store = std::get_if<StoreChunk>(&effect)) {
        take_data(hand, store->header, false);
      } else if (const auto* drop = std::get_if<DropChunk>(&effect)) {
        hand.arrived.erase(drop->header);
      } else if (const auto* done = std::get_if<CollectiveDone>(&effect)) {
        std::copy(hand.buffer.begin(), hand.buffer.end() - 1, hand.reduced.begin());
        const std::uint32_t flags = hand.buffer.back() != 0 ? std::uint32_t{kStopAfter} : 0U;
        hand.answers.push_back(StepReduced{done->id.round, done->id.step, flags, std::nullopt});
      }
    }
  }

  void take_data(Hand& hand, const ChunkHeader& header, bool add) {
    const Buffer data = hand.arrived.at(header);
    for (std::uint64_t i = 0; i < header.length; ++i) {
      std::uint64_t& element = hand.buffer[header.offset + i];
      element = add ? element + data[i] : data[i];
    }
    hand.arrived.erase(header);
  }

  void told(const Hand& hand, const WorkerSays& says) {
    if (const auto* entered = std::get_if<SaysEntered>(&says)) {
      say(hand, "has entered r" + std::to_string(entered->round.number) + " at step " +
                    std::to_string(entered->held.step.value));
    } else if (const auto* left = std::get_if<SaysLeft>(&says)) {
      say(hand, "has left for r" + std::to_string(left->for_round.number) +
                    (left->held ? ", holds step " + std::to_string(left->held->step.value)
                                : ", holds nothing"));
    } else if (const auto* saved = std::get_if<SaysSaved>(&says)) {
      say(hand, "has stored its share of step " + std::to_string(saved->report.step.value) +
                    " in r" + std::to_string(saved->report.round.number));
    } else if (std::holds_alternative<SaysFinished>(says)) {
      say(hand, "has finished");
    } else if (const auto* edge = std::get_if<SaysEdge>(&says)) {
      say(hand, std::string("reports that it cannot reach ") + static_cast<char>(edge->peer.value));
    }
  }

  // ---- Helpers
  char neighbour(const Hand& hand, Side side) const {
    const std::size_t size = hand.around.size();
    const std::size_t rank = hand.machine.rank();
    return hand.around.at(side == Side::kNext ? (rank + 1) % size : (rank + size - 1) % size);
  }
  Hand& hand_of(char name) {
    for (Hand& hand : hands_) {
      if (hand.name == name) return hand;
    }
    throw Trouble(std::string("no worker ") + name);
  }
  const Hand& hand_of_const(char name) const {
    return *std::find_if(hands_.begin(), hands_.end(),
                         [&](const Hand& hand) { return hand.name == name; });
  }
  Hand& of(const std::vector<std::string>& words, std::size_t at) {
    return hand_of(words.at(at).at(0));
  }
  static std::uint64_t number(const std::vector<std::string>& words, std::size_t at) {
    return std::stoull(words.at(at));
  }
  // "a->b"
  static std::pair<char, char> link(const std::vector<std::string>& words) {
    const std::string& text = words.at(0);
    if (text.size() != 4 || text.substr(1, 2) != "->") throw Trouble("a link is written a->b");
    return {text[0], text[3]};
  }
  void say(const Hand& hand, const std::string& what) {
    out_ << "  " << hand.name << ' ' << what << '\n';
  }

  std::ostringstream& out_;
  bool quiet_ = false;
  TrainingRules rules_;
  Timeouts timeouts_;
  Time now_{std::chrono::seconds(1)};
  std::deque<Hand> hands_;
  std::map<std::pair<char, char>, std::deque<Packet>> links_;
  std::vector<std::pair<char, char>> held_links_, held_last_;
};

}  // namespace

Played play_workers(const std::string& script) {
  std::ostringstream out;
  Played played;
  Play play(out);
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    const bool input = line.empty() || line[0] == '#' || line[0] == '>';
    if (!input) continue;  // output of an earlier run
    out << line << '\n';
    if (line.empty() || line[0] != '>' || !played.trouble.empty()) continue;
    try {
      play.command(line.substr(1));
    } catch (const std::exception& error) {
      played.trouble = line + ": " + error.what();
    }
  }
  played.text = out.str();
  return played;
}

}  // namespace elastic::interaction
