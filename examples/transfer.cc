// Two threads transfer money between a thousand accounts, while a third thread repeatedly adds up
// all accounts. The sum must be the same every time.
#include <cstdint>
#include <cstdio>
#include <thread>

#include "elider/elider.h"

struct Account {
  int64_t cents;
};

namespace {

elider::Status run() {
  constexpr elider::Key kAccounts = 1000;
  ELIDER_ASSIGN(auto db, elider::Database::open());
  ELIDER_ASSIGN(auto accounts, db.create_table(elider::SchemaOf<Account>("accounts").column("cents", &Account::cents)));
  ELIDER_TRY(db.run([&](elider::Transaction& txn) -> elider::Status {
    for (elider::Key key = 0; key < kAccounts; ++key) ELIDER_TRY(txn.insert(accounts, key, {100'00}));
    return {};
  }));

  auto move_money = [&](elider::Key first, elider::Key stride) {
    for (elider::Key i = 0; i < 200'000; ++i) {
      const elider::Key from = (first + i * stride) % kAccounts, to = (from + 7) % kAccounts;
      elider::Status moved = db.run([&](elider::Transaction& txn) {
        ELIDER_TRY(txn.update(accounts, from, {}, [](Account& a) { a.cents -= 1; }));
        return txn.update(accounts, to, {}, [](Account& a) { a.cents += 1; });
      });
      if (!moved.ok()) std::fprintf(stderr, "%s\n", moved.message().c_str());
    }
  };
  uint64_t looks = 0, wrong = 0;
  std::jthread auditor([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      int64_t sum = 0;
      elider::Status looked = db.run_read_only([&](elider::Transaction& txn) {
        return txn.scan(accounts, {}, {}, [&](elider::Key, const elider::View<Account>& a) { sum += a->cents; });
      });
      wrong += !looked.ok() || sum != int64_t{kAccounts} * 100'00;
      ++looks;
    }
  });
  {
    std::jthread one(move_money, 0, 1), other(move_money, 500, 999);
  }
  auditor.request_stop();
  auditor.join();

  const elider::Statistics statistics = db.statistics();
  std::printf("%llu transactions committed, %llu conflicts retried\n", static_cast<unsigned long long>(statistics.commits),
              static_cast<unsigned long long>(statistics.conflicts_total()));
  std::printf("%llu scans of all %llu accounts during the transfers, %llu with a wrong sum\n", static_cast<unsigned long long>(looks),
              static_cast<unsigned long long>(kAccounts), static_cast<unsigned long long>(wrong));
  return wrong == 0 && looks > 0 ? elider::Status() : elider::Status::rollback("money appeared or was lost");
}

}  // namespace

int main() {
  const elider::Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
