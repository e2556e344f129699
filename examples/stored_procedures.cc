// Stored procedures: named, with typed parameters, called with all arguments at once, as a server
// would call them for an unknown client.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "elider/elider.h"

using elider::Key;
using elider::Status;
using elider::Transaction;
using elider::Value;
using elider::ValueType;

struct Seat {
  uint64_t passenger;  // 0: free
};

namespace {

// A seat's key: flight, row, letter.
using SeatKey = elider::KeyLayout<32, 8, 4>;

elider::Procedure reserve(elider::Table<Seat> seats) {
  elider::Procedure procedure;
  procedure.name = "reserve";
  procedure.parameters = {{"flight", ValueType::kUInt64}, {"passenger", ValueType::kUInt64}};
  // Takes the first free seat and replies with its row and letter.
  procedure.body = [seats](Transaction& txn, std::span<const Value> arguments, std::vector<Value>& reply) -> Status {
    const uint64_t flight = std::get<uint64_t>(arguments[0]), passenger = std::get<uint64_t>(arguments[1]);
    Key free = elider::kKeyMax;
    ELIDER_TRY(txn.scan(seats, SeatKey::prefix(flight), {}, [&](Key key, const elider::View<Seat>& seat) {
      if (seat->passenger == 0) free = key;
      return seat->passenger != 0;
    }));
    if (free == elider::kKeyMax) return Status::invalid_argument("flight " + std::to_string(flight) + " is full");
    ELIDER_TRY(txn.update(seats, free, {}, [&](Seat& seat) { seat.passenger = passenger; }));
    reply.emplace_back(SeatKey::unpack(free)[1]);
    reply.emplace_back(std::string(1, static_cast<char>('A' + SeatKey::unpack(free)[2])));
    return {};
  };
  return procedure;
}

elider::Procedure count_free(elider::Table<Seat> seats) {
  elider::Procedure procedure;
  procedure.name = "count_free";
  procedure.parameters = {{"flight", ValueType::kUInt64}};
  procedure.read_only = true;
  procedure.body = [seats](Transaction& txn, std::span<const Value> arguments, std::vector<Value>& reply) -> Status {
    uint64_t free = 0;
    Status status = txn.scan(seats, SeatKey::prefix(std::get<uint64_t>(arguments[0])), {}, [&](Key, const elider::View<Seat>& seat) {
      free += seat->passenger == 0;
    });
    reply.emplace_back(free);
    return status;
  };
  return procedure;
}

Status run() {
  ELIDER_ASSIGN(auto db, elider::Database::open());
  ELIDER_ASSIGN(auto seats, db.create_table(elider::SchemaOf<Seat>("seats").column("passenger", &Seat::passenger)));
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    for (uint64_t row = 1; row <= 3; ++row)
      for (uint64_t letter = 0; letter < 4; ++letter) {
        ELIDER_ASSIGN(const Key key, SeatKey::pack(714, row, letter));
        ELIDER_TRY(txn.insert(seats, key, {0}));
      }
    return {};
  }));
  ELIDER_TRY(db.register_procedure(reserve(seats)));
  ELIDER_TRY(db.register_procedure(count_free(seats)));

  for (const auto& [name, parameters] : db.procedures()) {
    std::printf("%s(", name.c_str());
    for (size_t i = 0; i < parameters.size(); ++i)
      std::printf("%s%s: %s", i == 0 ? "" : ", ", parameters[i].name.c_str(), std::string(name_of(parameters[i].type)).c_str());
    std::printf(")\n");
  }

  int seated = 0;
  std::vector<Value> reply;
  for (uint64_t passenger = 1; passenger <= 14; ++passenger) {
    const Status status = db.call("reserve", std::vector<Value>{uint64_t{714}, passenger}, &reply);
    if (status.ok()) {
      ++seated;
      std::printf("passenger %2llu: seat %llu%s\n", static_cast<unsigned long long>(passenger),
                  static_cast<unsigned long long>(std::get<uint64_t>(reply[0])), std::get<std::string>(reply[1]).c_str());
    } else {
      std::printf("passenger %2llu: %s\n", static_cast<unsigned long long>(passenger), status.message().c_str());
    }
  }
  // What a client gets wrong is refused in words, before anything runs.
  const Status mistyped = db.call("reserve", std::vector<Value>{std::string("LH714"), uint64_t{1}});
  const Status unknown = db.call("upgrade", std::vector<Value>{});
  std::printf("%s\n%s\n", mistyped.message().c_str(), unknown.message().c_str());

  ELIDER_TRY(db.call("count_free", std::vector<Value>{uint64_t{714}}, &reply));
  const bool right = std::get<uint64_t>(reply[0]) == 0 && seated == 12 &&
                     mistyped.code() == elider::Code::kInvalidArgument && unknown.code() == elider::Code::kNotFound;
  return right ? Status() : Status::rollback("a seat is missing, or was given twice");
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
