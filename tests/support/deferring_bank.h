// DeferringBank: books whose postings reach two accounts later, as chopped procedures with a
// deferred part, and what must hold of them.
//
//   post     book (counts the posting: the piece that orders it), entry (a fresh row), and,
//            deferred, 1 more on both accounts
//   compare  a subscriber: reads both accounts, and marks how much it has seen, unless it only
//            looks
//   tick     meets subscribers alone
//   peek     reads how many postings there are, and counts itself: it meets `post`, and no
//            subscriber
//   audit    reads all of it, on a snapshot
//
// Invariants: both accounts always show the same balance. On a snapshot that balance, the postings
// and the entries are equal in number, and the last mark has seen no more of them.
// Thread safety: after install(), all.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "elider/elider.h"
#include "elider/try.h"

namespace elider::test {

struct DeferringBank {
  struct Book {
    uint64_t posted, peeks;
  };
  struct Account {
    int64_t balance;
    uint64_t marks;
    int64_t marked;
    uint64_t ticks;
  };
  struct Entry {
    uint64_t number;
  };
  struct Post {
    Key entry = 0;
    uint64_t number = 0;                     // found: how many postings there were before
    bool fail = false;                       // in the entry: the call is left half done
    bool fail_late = false;                  // in the deferred part: likewise
    std::function<void(int)> meanwhile = {}; // 1: in the book, 2: in the deferred part
  };
  struct Compare {
    int64_t first = 0, second = 0;
    uint64_t ticks = 0;
    bool only_looks = false;
    std::function<void(int)> meanwhile = {};  // 1: between the two, 2: in the mark
  };
  struct Tick {};
  struct Peek {
    uint64_t posted = 0;
  };
  struct Audit {
    uint64_t posted = 0, entries = 0, marks = 0, ticks = 0;
    int64_t first = 0, second = 0, marked = 0;
  };

  Table<Book> books;
  Table<Account> accounts;
  Table<Entry> entries;
  ProcedureHandle<Post> post;
  ProcedureHandle<Compare> compare;
  ProcedureHandle<Tick> tick;
  ProcedureHandle<Peek> peek;
  ProcedureHandle<Audit> audit;
  std::atomic<uint64_t> next_entry{0};

  Status create_tables(Database& db) {
    auto book = db.create_table(
        SchemaOf<Book>("books").column("posted", &Book::posted).column("peeks", &Book::peeks).group({"posted"}).group({"peeks"}));
    if (!book.ok()) return book.status();
    books = *book;
    auto account = db.create_table(SchemaOf<Account>("accounts")
                                       .column("balance", &Account::balance)
                                       .column("marks", &Account::marks)
                                       .column("marked", &Account::marked)
                                       .column("ticks", &Account::ticks)
                                       .group({"balance"})
                                       .group({"marks", "marked"})
                                       .group({"ticks"}));
    if (!account.ok()) return account.status();
    accounts = *account;
    auto entry = db.create_table(SchemaOf<Entry>("entries").column("number", &Entry::number));
    if (!entry.ok()) return entry.status();
    entries = *entry;
    return {};
  }
  Status fill(Database& db) {
    return db.run([&](Transaction& txn) -> Status {
      ELIDER_TRY(txn.insert(books, 0, Book{}));
      for (Key key : {0, 1}) ELIDER_TRY(txn.insert(accounts, key, Account{}));
      return {};
    });
  }
  Status install(Database& db, const InstallOptions& options, chopping::Plan* plan = nullptr) {
    using chopping::Operation;
    const auto balance = accounts.columns(&Account::balance);
    const auto marks = accounts.columns(&Account::marks, &Account::marked);
    const auto ticks = accounts.columns(&Account::ticks);
    Procedures procedures;
    post = procedures.add(Procedure<Post>("post")
                              .operation(Operation("book").reads("books", {"posted"}).writes("books", {"posted"}),
                                         [this](Transaction& txn, Post& call) -> Status {
                                           if (call.meanwhile) call.meanwhile(1);
                                           return txn.update(books, 0, books.columns(&Book::posted),
                                                             [&](Book& book) { call.number = book.posted++; });
                                         })
                              .operation(Operation("entry").inserts("entries").fresh().needs({"book"}),
                                         [this](Transaction& txn, Post& call) -> Status {
                                           return call.fail ? Status::rollback() : txn.insert(entries, call.entry, Entry{call.number});
                                         })
                              .operation(Operation("balances").adds("accounts", {"balance"}).needs({"book"}).defers(),
                                         [this](Transaction& txn, Post& call) -> Status {
                                           ELIDER_TRY(txn.add(accounts, 0, &Account::balance, 1));
                                           if (call.meanwhile) call.meanwhile(2);
                                           if (call.fail_late) return Status::rollback();
                                           return txn.add(accounts, 1, &Account::balance, 1);
                                         }));
    compare = procedures.add(Procedure<Compare>("compare")
                                 .operation(Operation("look").reads("accounts", {"balance"}),
                                            [=, this](Transaction& txn, Compare& call) -> Status {
                                              auto first = txn.get(accounts, 0, balance);
                                              if (!first.ok()) return first.status();
                                              call.first = (*first)->balance;
                                              if (call.meanwhile) call.meanwhile(1);
                                              auto second = txn.get(accounts, 1, balance);
                                              if (!second.ok()) return second.status();
                                              call.second = (*second)->balance;
                                              return {};
                                            })
                                 .operation(Operation("mark")
                                                .reads("accounts", {"marks", "ticks"})
                                                .writes("accounts", {"marks", "marked"})
                                                .needs({"look"}),
                                            [=, this](Transaction& txn, Compare& call) -> Status {
                                              if (call.meanwhile) call.meanwhile(2);
                                              auto account = txn.get(accounts, 0, ticks);
                                              if (!account.ok()) return account.status();
                                              call.ticks = (*account)->ticks;
                                              if (call.only_looks) return {};
                                              return txn.update(accounts, 0, marks, [&](Account& account) {
                                                ++account.marks;
                                                account.marked = call.first;
                                              });
                                            }));
    tick = procedures.add(Procedure<Tick>("tick").operation(
        Operation("tick").reads("accounts", {"ticks"}).writes("accounts", {"ticks"}),
        [=, this](Transaction& txn, Tick&) { return txn.update(accounts, 0, ticks, [](Account& account) { ++account.ticks; }); }));
    peek = procedures.add(Procedure<Peek>("peek").operation(
        Operation("book").reads("books", {"posted"}).adds("books", {"peeks"}), [this](Transaction& txn, Peek& call) -> Status {
          auto book = txn.get(books, 0, books.columns(&Book::posted));
          if (!book.ok()) return book.status();
          call.posted = (*book)->posted;
          return txn.add(books, 0, &Book::peeks, 1);
        }));
    audit = procedures.add(Procedure<Audit>("audit").operation(
        Operation("all").scans("books").scans("accounts").scans("entries"),
        [this](Transaction& txn, Audit& found) -> Status { return read_all(txn, &found); }));
    return db.install(std::move(procedures), options, plan);
  }

  Post next_post() {
    Post call;
    call.entry = next_entry.fetch_add(1);
    return call;
  }
  Status read_all(Transaction& txn, Audit* found) {
    *found = {};
    ELIDER_TRY(txn.scan(books, KeyRange{}, {}, [&](Key, const View<Book>& book) { found->posted += book->posted; }));
    ELIDER_TRY(txn.scan(accounts, KeyRange{}, {}, [&](Key key, const View<Account>& account) {
      (key == 0 ? found->first : found->second) = account->balance;
      if (key == 0) found->marks = account->marks, found->marked = account->marked, found->ticks = account->ticks;
    }));
    return txn.scan(entries, KeyRange{}, {}, [&](Key, const View<Entry>&) { ++found->entries; });
  }
  // What is wrong with it, in words; "": nothing.
  static std::string damage(const Audit& found) {
    const auto all = static_cast<int64_t>(found.posted);
    if (static_cast<int64_t>(found.entries) == all && found.first == all && found.second == all && found.marked <= all) return "";
    return std::to_string(found.posted) + " postings, " + std::to_string(found.entries) + " entries, " + std::to_string(found.first) +
           " and " + std::to_string(found.second) + " on the accounts, of which " + std::to_string(found.marked) + " are marked";
  }
};

}  // namespace elider::test
