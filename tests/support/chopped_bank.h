// ChoppedBank: accounts, transfers between them as chopped procedures, and what must hold of them.
//
//   transfer  names (reads both owners; rolls back if one is closed); balances (the piece that
//             orders it); then journal (inserts a row) and turnover (adds to the branches)
//   deposit   adds to the turnover of a branch, and to its own account's count of deposits
//   audit     reads all of it, on a snapshot
//
// Invariants of every visible state: the sum of the balances does not change; each transfer has its
// row in the journal; the turnover of the branches is the sum of the journal's transfers and of the
// deposits.
// Thread safety: after install(), all.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "elider/elider.h"
#include "elider/try.h"

namespace elider::test {

struct ChoppedBank {
  struct Account {
    uint64_t branch, closed;
    int64_t balance;
    uint64_t transfers, deposits;
  };
  struct Branch {
    int64_t turnover, deposited;
  };
  struct Entry {
    uint64_t from, to;
    int64_t amount;
  };
  struct Transfer {
    Key from = 0, to = 0, entry = 0;
    int64_t amount = 0;
    uint64_t from_branch = 0, to_branch = 0;  // found
    int64_t left = 0;                         // on the account that gave
    int fail = 0;                             // 1, 2, 3: the head's, the core's, the tail's operation returns an error
    std::function<void(int)> meanwhile = {};  // called in the core's and the tail's operation, with 2 and 3
  };
  struct Deposit {
    Key account = 0, branch = 0;
    int64_t amount = 0;
  };
  struct Audit {
    int64_t balances = 0, turnover = 0, deposited = 0, journal = 0;
    uint64_t transfers = 0, entries = 0, deposits = 0;
  };

  static constexpr Key kAccounts = 16, kBranches = 2;
  static constexpr int64_t kBegin = 1000;

  Table<Account> accounts;
  Table<Branch> branches;
  Table<Entry> journal;
  ProcedureHandle<Transfer> transfer;
  ProcedureHandle<Deposit> deposit;
  ProcedureHandle<Audit> audit;
  std::atomic<uint64_t> next_entry{0};

  Status create_tables(Database& db) {
    using A = Account;
    auto made = db.create_table(SchemaOf<A>("accounts")
                                    .column("branch", &A::branch)
                                    .column("closed", &A::closed)
                                    .column("balance", &A::balance)
                                    .column("transfers", &A::transfers)
                                    .column("deposits", &A::deposits)
                                    .group({"balance", "transfers"})
                                    .group({"deposits"}));
    if (!made.ok()) return made.status();
    accounts = *made;
    auto branch = db.create_table(
        SchemaOf<Branch>("branches").column("turnover", &Branch::turnover).column("deposited", &Branch::deposited));
    if (!branch.ok()) return branch.status();
    branches = *branch;
    auto entries =
        db.create_table(SchemaOf<Entry>("journal").column("from", &Entry::from).column("to", &Entry::to).column("amount", &Entry::amount));
    if (!entries.ok()) return entries.status();
    journal = *entries;
    return {};
  }
  Status fill(Database& db) {
    return db.run([&](Transaction& txn) -> Status {
      for (Key key = 0; key < kAccounts; ++key) ELIDER_TRY(txn.insert(accounts, key, Account{key % kBranches, 0, kBegin, 0, 0}));
      for (Key key = 0; key < kBranches; ++key) ELIDER_TRY(txn.insert(branches, key, Branch{0, 0}));
      return {};
    });
  }
  Status install(Database& db, bool always_in_pieces, chopping::Plan* plan = nullptr) {
    using chopping::Operation;
    const auto names = accounts.columns(&Account::branch, &Account::closed);
    const auto balances = accounts.columns(&Account::balance, &Account::transfers);
    Procedures procedures;
    transfer = procedures.add(
        Procedure<Transfer>("transfer")
            .touch([this](const Transfer& call, Touches& touches) {
              for (const Key key : {call.from, call.to}) touches.row(accounts, key);
            })
            .operation(Operation("names").reads("accounts", {"branch", "closed"}).rolls_back(),
                       [=, this](Transaction& txn, Transfer& call) -> Status {
                         if (call.fail == 1) return Status::rollback();
                         auto from = txn.get(accounts, call.from, names);
                         if (!from.ok()) return from.status();
                         auto to = txn.get(accounts, call.to, names);
                         if (!to.ok()) return to.status();
                         if ((*from)->closed || (*to)->closed) return Status::rollback();
                         call.from_branch = (*from)->branch;
                         call.to_branch = (*to)->branch;
                         return {};
                       })
            .operation(Operation("balances")
                           .reads("accounts", {"balance", "transfers"})
                           .writes("accounts", {"balance", "transfers"})
                           .needs({"names"}),
                       [=, this](Transaction& txn, Transfer& call) -> Status {
                         ELIDER_TRY(txn.update(accounts, call.from, balances, [&](Account& a) {
                           a.balance -= call.amount;
                           ++a.transfers;
                           call.left = a.balance;
                         }));
                         if (call.meanwhile) call.meanwhile(2);
                         if (call.fail == 2) return Status::rollback();
                         return txn.update(accounts, call.to, balances, [&](Account& a) { a.balance += call.amount; });
                       })
            .operation(Operation("journal").inserts("journal").fresh().needs({"balances"}),
                       [this](Transaction& txn, Transfer& call) -> Status {
                         if (call.meanwhile) call.meanwhile(3);
                         if (call.fail == 3) return Status::rollback();
                         return txn.insert(journal, call.entry, Entry{call.from, call.to, call.amount});
                       })
            .operation(Operation("turnover").adds("branches", {"turnover"}).needs({"names"}),
                       [this](Transaction& txn, Transfer& call) -> Status {
                         ELIDER_TRY(txn.add(branches, call.from_branch, &Branch::turnover, call.amount));
                         return txn.add(branches, call.to_branch, &Branch::turnover, call.amount);
                       }));
    deposit = procedures.add(
        Procedure<Deposit>("deposit")
            .operation(Operation("account").reads("accounts", {"deposits"}).writes("accounts", {"deposits"}),
                       [this](Transaction& txn, Deposit& call) -> Status {
                         return txn.update(accounts, call.account, accounts.columns(&Account::deposits), [](Account& a) { ++a.deposits; });
                       })
            .operation(Operation("branch").adds("branches", {"deposited"}), [this](Transaction& txn, Deposit& call) -> Status {
              return txn.add(branches, call.branch, &Branch::deposited, call.amount);
            }));
    audit = procedures.add(Procedure<Audit>("audit").operation(
        Operation("all").scans("accounts").scans("branches").scans("journal"),
        [this](Transaction& txn, Audit& found) -> Status { return read_all(txn, &found); }));
    InstallOptions options;
    options.always_in_pieces = always_in_pieces;
    return db.install(std::move(procedures), options, plan);
  }

  // Returns the next transfer between accounts that `random` selects from 1 to 9.
  template <class Random>
  Transfer draw(Random&& random) {
    Transfer call;
    call.from = random() % kAccounts;
    call.to = (call.from + 1 + random() % (kAccounts - 1)) % kAccounts;
    call.amount = static_cast<int64_t>(1 + random() % 9);
    call.entry = next_entry.fetch_add(1);
    return call;
  }

  Status read_all(Transaction& txn, Audit* found) {
    *found = {};
    ELIDER_TRY(txn.scan(accounts, KeyRange{}, {}, [&](Key, const View<Account>& a) {
      found->balances += a->balance;
      found->transfers += a->transfers;
      found->deposits += a->deposits;
    }));
    ELIDER_TRY(txn.scan(branches, KeyRange{}, {}, [&](Key, const View<Branch>& b) {
      found->turnover += b->turnover;
      found->deposited += b->deposited;
    }));
    return txn.scan(journal, KeyRange{}, {}, [&](Key, const View<Entry>& e) {
      ++found->entries;
      found->journal += e->amount;
    });
  }
  // Returns what is wrong with it, or an empty text. Each deposit is 1.
  static std::string damage(const Audit& found) {
    std::string words;
    const auto expect = [&](const char* what, auto is, auto should) {
      if (static_cast<int64_t>(is) != static_cast<int64_t>(should))
        words += std::string(what) + " is " + std::to_string(is) + ", not " + std::to_string(should) + "; ";
    };
    expect("the sum of the balances", found.balances, static_cast<int64_t>(kAccounts) * kBegin);
    expect("the number of entries", found.entries, found.transfers);
    expect("the turnover", found.turnover, 2 * found.journal);
    expect("what was deposited", found.deposited, found.deposits);
    return words;
  }
};

}  // namespace elider::test
