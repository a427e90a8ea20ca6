#include "transport/wire/checker.h"

#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <climits>
#include <string>

#include "core/assert.h"
#include "transport/wire/limits.pb.h"

namespace elastic::wire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::OneofDescriptor;

// https://protobuf.dev/programming-guides/encoding/
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

constexpr int kMaxFields = 32;  // of one message type; the schema has at most 22
using Counts = std::array<std::uint32_t, kMaxFields>;
using Complaint = std::optional<DecodeError>;  // nothing: no complaint

Complaint refuse(std::string expected, std::string found) {
  return DecodeError{.field = "", .expected = std::move(expected), .found = std::move(found)};
}

Complaint inside(const std::string& name, Complaint complaint) {
  if (!complaint) return complaint;
  complaint->field = complaint->field.empty() ? name : name + "." + complaint->field;
  return complaint;
}

std::string range_of(const EnumDescriptor& type) {
  const auto& first = *type.value(1);  // value(0) means unspecified
  const auto& last = *type.value(type.value_count() - 1);
  return first.name() + " (" + std::to_string(first.number()) + ") to " + last.name() + " (" +
         std::to_string(last.number()) + ")";
}

Complaint check_varint(const FieldDescriptor& field, std::uint64_t value) {
  const auto as_signed = static_cast<std::int64_t>(value);
  switch (field.type()) {
    case FieldDescriptor::TYPE_BOOL:
      return value <= 1 ? std::nullopt : refuse("0 or 1", std::to_string(value));
    case FieldDescriptor::TYPE_UINT32:
      return value <= UINT32_MAX ? std::nullopt : refuse("0 to 4294967295", std::to_string(value));
    case FieldDescriptor::TYPE_INT32:
      if (as_signed >= INT32_MIN && as_signed <= INT32_MAX) return std::nullopt;
      return refuse("-2147483648 to 2147483647", std::to_string(as_signed));
    case FieldDescriptor::TYPE_INT64: {
      const auto& options = field.options();
      if (!options.HasExtension(pb::min_value)) return std::nullopt;
      const std::int64_t least = options.GetExtension(pb::min_value);
      if (as_signed >= least) return std::nullopt;
      return refuse("at least " + std::to_string(least), std::to_string(as_signed));
    }
    case FieldDescriptor::TYPE_ENUM: {
      const bool known = value != 0 && value <= INT_MAX &&
                         field.enum_type()->FindValueByNumber(static_cast<int>(value)) != nullptr;
      return known ? std::nullopt : refuse(range_of(*field.enum_type()), std::to_string(value));
    }
    default:
      return std::nullopt;  // 64 bits, all of them legal
  }
}

WireType wire_type_of(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
    case FieldDescriptor::TYPE_STRING:  // that it is UTF-8 is for the parser to see
    case FieldDescriptor::TYPE_BYTES:
      return kLength;
    case FieldDescriptor::TYPE_FIXED64:
      return kFixed64;
    case FieldDescriptor::TYPE_BOOL:
    case FieldDescriptor::TYPE_UINT32:
    case FieldDescriptor::TYPE_UINT64:
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_SINT64:
    case FieldDescriptor::TYPE_ENUM:
      return kVarint;
    default:
      ELASTIC_ASSERT(field.type() == FieldDescriptor::TYPE_MESSAGE);  // no other in our schema
      return kLength;
  }
}

Complaint check_oneof(const OneofDescriptor& oneof, const Counts& seen) {
  std::uint32_t members = 0;
  std::string names;
  for (int i = 0; i < oneof.field_count(); ++i) {
    members += seen[oneof.field(i)->index()];
    names += (i == 0 ? "" : ", ") + oneof.field(i)->name();
  }
  if (members == 1) return std::nullopt;
  return inside(oneof.name(),
                refuse("one of " + names, members == 0 ? "none" : std::to_string(members)));
}

// What must be there, and is not.
Complaint check_presence(const Descriptor& type, const Counts& seen) {
  for (int i = 0; i < type.real_oneof_decl_count(); ++i) {
    if (auto complaint = check_oneof(*type.oneof_decl(i), seen)) return complaint;
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool scalar = field.type() != FieldDescriptor::TYPE_MESSAGE &&
                        field.type() != FieldDescriptor::TYPE_ENUM;  // absent: zero
    if (seen[i] != 0 || scalar || field.is_repeated() || field.has_optional_keyword() ||
        field.real_containing_oneof() != nullptr) {
      continue;
    }
    const bool is_enum = field.type() == FieldDescriptor::TYPE_ENUM;
    return inside(field.name(), refuse(is_enum ? range_of(*field.enum_type())
                                               : "a " + field.message_type()->name(),
                                       "none"));
  }
  return std::nullopt;
}

class Checker {
 public:
  explicit Checker(std::string_view bytes)
      : in_(reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())) {
    in_.PushLimit(static_cast<int>(bytes.size()));
  }

  // Reads up to the current limit.
  Complaint message(const Descriptor& type) {
    ELASTIC_ASSERT(type.field_count() <= kMaxFields);
    Counts seen{};
    while (in_.BytesUntilLimit() > 0) {
      const std::uint32_t tag = in_.ReadTagNoLastTag();
      const std::uint32_t number = tag >> 3;
      if (number == 0) return malformed("a field number from 1 to 536870911");
      const FieldDescriptor* field = type.FindFieldByNumber(static_cast<int>(number));
      if (field == nullptr) {
        if (auto complaint = skip(tag & 7)) {
          return inside("field " + std::to_string(number), std::move(complaint));
        }
        continue;
      }
      std::uint32_t& count = seen[field->index()];
      if (auto complaint = this->field(*field, tag & 7, count)) {
        return inside(name_of(*field, count), std::move(complaint));
      }
    }
    return check_presence(type, seen);
  }

 private:
  static std::string name_of(const FieldDescriptor& field, std::uint32_t count) {
    if (!field.is_repeated() || count == 0) return field.name();
    return field.name() + "[" + std::to_string(count - 1) + "]";
  }

  Complaint malformed(std::string expected) {
    return refuse(std::move(expected), "malformed bytes up to " + std::to_string(at()));
  }
  int at() const { return in_.CurrentPosition(); }

  // One occurrence of a field; `count` are those up to this one.
  Complaint field(const FieldDescriptor& field, std::uint32_t wire_type, std::uint32_t& count) {
    const WireType wanted = wire_type_of(field);
    if (field.is_repeated() && wanted != kLength && wire_type == kLength) {
      return packed(field, wanted, count);
    }
    if (wire_type != wanted) {
      return refuse("wire type " + std::to_string(wanted), std::to_string(wire_type));
    }
    ++count;
    if (auto complaint = check_count(field, count)) return complaint;
    if (wanted != kLength) return value(field, wanted);
    return field.type() == FieldDescriptor::TYPE_MESSAGE ? nested(*field.message_type()) : text();
  }

  static Complaint check_count(const FieldDescriptor& field, std::uint32_t count) {
    if (!field.is_repeated()) {
      return count <= 1 ? std::nullopt : refuse("it once", "it twice");
    }
    const std::uint32_t most = field.options().GetExtension(pb::max_count);
    if (count <= most) return std::nullopt;
    return refuse("at most " + std::to_string(most), "more");
  }

  // Reads a length and narrows the limit to it; false if so many bytes are not there.
  bool enter(google::protobuf::io::CodedInputStream::Limit& outer) {
    std::uint64_t length = 0;
    if (!in_.ReadVarint64(&length)) return false;
    if (length > static_cast<std::uint64_t>(in_.BytesUntilLimit())) return false;
    outer = in_.PushLimit(static_cast<int>(length));
    return true;
  }

  Complaint nested(const Descriptor& type) {
    if (auto complaint = count_part()) return complaint;
    google::protobuf::io::CodedInputStream::Limit outer = 0;
    if (!enter(outer)) return malformed("a " + type.name() + " with its length");
    auto complaint = message(type);
    in_.PopLimit(outer);
    return complaint;
  }

  Complaint text() {
    if (auto complaint = count_part()) return complaint;
    google::protobuf::io::CodedInputStream::Limit outer = 0;
    if (!enter(outer)) return malformed("bytes with their length");
    in_.Skip(in_.BytesUntilLimit());
    in_.PopLimit(outer);
    return std::nullopt;
  }

  Complaint packed(const FieldDescriptor& field, WireType wanted, std::uint32_t& count) {
    google::protobuf::io::CodedInputStream::Limit outer = 0;
    if (!enter(outer)) return malformed("numbers with their length");
    while (in_.BytesUntilLimit() > 0) {
      ++count;
      if (auto complaint = check_count(field, count)) return complaint;
      if (auto complaint = value(field, wanted)) return complaint;
    }
    in_.PopLimit(outer);
    return std::nullopt;
  }

  Complaint value(const FieldDescriptor& field, WireType wanted) {
    std::uint64_t bits = 0;
    if (wanted == kFixed64) {
      return in_.ReadLittleEndian64(&bits) ? std::nullopt : malformed("8 bytes");
    }
    if (!in_.ReadVarint64(&bits)) return malformed("a number");
    return check_varint(field, bits);
  }

  // A field that the schema does not know.
  Complaint skip(std::uint32_t wire_type) {
    if (auto complaint = count_part()) return complaint;
    std::uint64_t bits = 0;
    google::protobuf::io::CodedInputStream::Limit outer = 0;
    switch (wire_type) {
      case kVarint:
        return in_.ReadVarint64(&bits) ? std::nullopt : malformed("a number");
      case kFixed64:
        return in_.Skip(8) ? std::nullopt : malformed("8 bytes");
      case kFixed32:
        return in_.Skip(4) ? std::nullopt : malformed("4 bytes");
      case kLength:
        if (!enter(outer)) return malformed("bytes with their length");
        in_.Skip(in_.BytesUntilLimit());
        in_.PopLimit(outer);
        return std::nullopt;
      default:
        return refuse("wire type 0, 1, 2 or 5", std::to_string(wire_type));
    }
  }

  Complaint count_part() {
    ++parts_;
    if (parts_ <= kMaxParts) return std::nullopt;
    return refuse("at most " + std::to_string(kMaxParts) + " parts in all", "more");
  }

  google::protobuf::io::CodedInputStream in_;
  std::uint32_t parts_ = 0;
};

}  // namespace

std::optional<DecodeError> check_bytes(std::string_view bytes, const Descriptor& type) {
  if (bytes.size() > INT_MAX) {
    return refuse("at most 2147483647 bytes", std::to_string(bytes.size()));
  }
  return Checker(bytes).message(type);
}

}  // namespace elastic::wire
