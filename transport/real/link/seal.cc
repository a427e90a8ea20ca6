#include "transport/real/link/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "core/assert.h"

namespace elastic::real {
namespace {

// Parts are told apart by their lengths, so that no two lists of parts give the same bytes.
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) {
    const std::uint64_t size = part.size();
    for (int shift = 0; shift < 64; shift += 8) all.push_back(static_cast<char>(size >> shift));
    all += part;
  }
  return all;
}

Key hmac(const Key& key, std::string_view bytes) {
  Key out{};
  unsigned int size = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), out.data(), &size);
  ELASTIC_ASSERT(done != nullptr);
  ELASTIC_ASSERT(size == out.size());
  return out;
}

std::string_view text(const Key& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

}  // namespace

Key key_of_job(std::string_view job, std::string_view token) {
  return hmac(Key{}, joined({token.empty() ? "elastic job id" : "elastic token", job, token}));
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  const int done =
      RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count));
  ELASTIC_ASSERT(done == 1);
  return bytes;
}

std::string proof_of(const Key& key, const Transcript& said, Side side) {
  const char* label = side == Side::kDialler ? "proof of dialler" : "proof of acceptor";
  return std::string(text(hmac(key, joined({label, said.hello, said.challenge}))));
}

Key session_key(const Key& key, const Transcript& said) {
  return hmac(key, joined({"session", said.hello, said.challenge}));
}

bool equal(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string Seal::mac(wire::FrameKind kind, std::string_view content) const {
  std::string head;
  head.push_back(sender_ == Side::kDialler ? 'd' : 'a');
  for (int shift = 0; shift < 64; shift += 8) head.push_back(static_cast<char>(frames_ >> shift));
  head.push_back(static_cast<char>(kind));
  return std::string(text(hmac(key_, joined({head, content}))).substr(0, kMacBytes));
}

std::string Seal::close(wire::FrameKind kind, std::string_view content) {
  std::string payload;
  payload.reserve(content.size() + kMacBytes);
  payload += content;
  payload += mac(kind, content);
  ++frames_;
  return payload;
}

std::optional<std::string_view> Seal::open(wire::FrameKind kind, std::string_view payload) {
  if (payload.size() < kMacBytes) return std::nullopt;
  const std::string_view content = payload.substr(0, payload.size() - kMacBytes);
  if (!equal(mac(kind, content), payload.substr(content.size()))) return std::nullopt;
  ++frames_;
  return content;
}

}  // namespace elastic::real
