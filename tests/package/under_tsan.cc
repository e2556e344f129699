// A user's program, to run under ThreadSanitizer with a library that is not compiled for it. Some
// threads write rows of several sizes, and others read the current and earlier versions. The
// sanitizer must not report anything.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "elider/elider.h"

namespace {

template <size_t kBytes>
struct Row {
  uint64_t count;
  unsigned char filling[kBytes];
};

constexpr elider::Key kRows = 16;

template <size_t kBytes>
elider::Status use(elider::Database& db, const char* name) {
  using R = Row<kBytes>;
  ELIDER_ASSIGN(auto table, db.create_table(elider::SchemaOf<R>(name)
                                                .column("count", &R::count)
                                                .column("filling", &R::filling)
                                                .index("by_count", {"count"}, [](const R& row) { return row.count / 4; })));
  ELIDER_ASSIGN(auto by_count, db.index(table, "by_count"));
  ELIDER_TRY(db.run([&](elider::Transaction& txn) -> elider::Status {
    for (elider::Key key = 0; key < kRows; ++key) ELIDER_TRY(txn.insert(table, key, R{}));
    return {};
  }));
  std::atomic<int> failed{0};
  const auto writer = [&](uint64_t seed) {
    for (uint64_t i = 0; i < 3000; ++i) {
      const elider::Key key = (seed + i * 7) % kRows;
      const auto changed = db.run([&](elider::Transaction& txn) -> elider::Status {
        if (i % 16 == 0) {
          ELIDER_TRY(txn.remove(table, key));
          return txn.insert(table, key, R{});
        }
        return txn.update(table, key, table.columns(&R::count, &R::filling), [&](R& row) {
          ++row.count;
          for (auto& byte : row.filling) byte = static_cast<unsigned char>(row.count);
        });
      });
      failed += !changed.ok();
    }
  };
  const auto reader = [&](bool snapshot) {
    for (uint64_t i = 0; i < 1500; ++i) {
      const auto look = [&](elider::Transaction& txn) -> elider::Status {
        uint64_t torn = 0;
        for (elider::Key key = 0; key < kRows; ++key) {
          auto row = txn.get(table, key);
          if (row.status().not_found()) continue;
          if (!row.ok()) return row.status();
          for (const auto byte : (*row)->filling) torn += byte != static_cast<unsigned char>((*row)->count);
        }
        ELIDER_TRY(txn.scan(by_count, {0, 1000}, {}, [&](elider::Key, const elider::View<R>& row) {
          torn += row->filling[0] != static_cast<unsigned char>(row->count);
        }));
        return torn == 0 ? elider::Status() : elider::Status::rollback("torn");
      };
      failed += !(snapshot ? db.run_read_only(look) : db.run(look)).ok();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back(writer, 1);
    threads.emplace_back(writer, 5);
    threads.emplace_back(reader, true);
    threads.emplace_back(reader, false);
  }
  if (failed != 0) return elider::Status::rollback("a transaction failed");
  return {};
}

}  // namespace

int main() {
  auto db = elider::Database::open({});
  elider::Status status = db.status();
  if (status.ok()) status = use<40>(*db, "small");
  if (status.ok()) status = use<500>(*db, "wide");
  if (status.ok()) status = use<5000>(*db, "blocks");
  std::puts(status.ok() ? "ok" : status.message().c_str());
  return status.ok() ? 0 : 1;
}
