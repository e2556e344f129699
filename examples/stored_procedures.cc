// Procedures with typed arguments. A server can call them by name on behalf of clients, and the
// program itself can call them through a handle.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "elider/elider.h"

using elider::Key;
using elider::Status;
using elider::Transaction;
using elider::Value;

struct Seat {
  uint64_t passenger;  // 0: the seat is free
};

namespace {

// The key of a seat: flight, row, letter.
using SeatKey = elider::KeyLayout<32, 8, 4>;

struct Reserve {
  uint64_t flight, passenger;
  uint64_t row;        // the result: the reserved seat
  std::string letter;
};

// Reserves the first free seat.
elider::Procedure<Reserve> reserve(elider::Table<Seat> seats) {
  return elider::Procedure<Reserve>("reserve")
      .parameter("flight", &Reserve::flight)
      .parameter("passenger", &Reserve::passenger)
      .result("row", &Reserve::row)
      .result("letter", &Reserve::letter)
      .body([seats](Transaction& txn, Reserve& call) -> Status {
        Key free = elider::kKeyMax;
        ELIDER_TRY(txn.scan(seats, SeatKey::prefix(call.flight), {}, [&](Key key, const elider::View<Seat>& seat) {
          if (seat->passenger == 0) free = key;
          return seat->passenger != 0;
        }));
        if (free == elider::kKeyMax) return Status::invalid_argument("flight " + std::to_string(call.flight) + " is full");
        call.row = SeatKey::unpack(free)[1];
        call.letter = static_cast<char>('A' + SeatKey::unpack(free)[2]);
        return txn.update(seats, free, {}, [&](Seat& seat) { seat.passenger = call.passenger; });
      });
}

struct CountFree {
  uint64_t flight;
  uint64_t free;  // the result
};

elider::Procedure<CountFree> count_free(elider::Table<Seat> seats) {
  return elider::Procedure<CountFree>("count_free")
      .parameter("flight", &CountFree::flight)
      .result("free", &CountFree::free)
      .read_only()
      .body([seats](Transaction& txn, CountFree& call) {
        call.free = 0;
        return txn.scan(seats, SeatKey::prefix(call.flight), {}, [&](Key, const elider::View<Seat>& seat) {
          call.free += seat->passenger == 0;
        });
      });
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
  elider::Procedures procedures;
  procedures.add(reserve(seats));
  const elider::ProcedureHandle<CountFree> count = procedures.add(count_free(seats));
  ELIDER_TRY(db.install(std::move(procedures)));

  for (const elider::ProcedureInfo& procedure : db.procedures()) {
    const auto print = [](const std::vector<elider::Parameter>& all) {
      for (size_t i = 0; i < all.size(); ++i)
        std::printf("%s%s: %s", i == 0 ? "" : ", ", all[i].name.c_str(), std::string(name_of(all[i].type)).c_str());
    };
    std::printf("%s(", procedure.name.c_str());
    print(procedure.parameters);
    std::printf(") -> ");
    print(procedure.results);
    std::printf("\n");
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
  // An invalid call by a client is rejected with a message before anything runs.
  const Status mistyped = db.call("reserve", std::vector<Value>{std::string("LH714"), uint64_t{1}});
  const Status unknown = db.call("upgrade", std::vector<Value>{});
  std::printf("%s\n%s\n", mistyped.message().c_str(), unknown.message().c_str());

  CountFree left{.flight = 714, .free = 0};
  ELIDER_TRY(db.call(count, left));
  const bool right = left.free == 0 && seated == 12 &&
                     mistyped.code() == elider::Code::kInvalidArgument && unknown.code() == elider::Code::kNotFound;
  return right ? Status() : Status::rollback("a seat is missing, or was given twice");
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
