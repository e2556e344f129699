// An order book in a durable heap: orders to buy and to sell shares are matched by price and then
// by age. The parent process repeatedly starts a child that places orders, and kills it with
// SIGKILL at a random moment. After each kill, the parent opens the book again and checks that no
// acknowledged order is lost or incomplete, and that the totals of cash and shares are unchanged.
//
//   example_order_book [FILE]    FILE is the heap's file, which keeps its orders for the next run
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "elider/heap.h"
#include "elider/heap_map.h"
#include "elider/heap_ordered_map.h"
#include "elider/try.h"

using elider::Heap;
using elider::HeapReader;
using elider::HeapTransaction;
using elider::Status;

namespace {

constexpr uint64_t kTraders = 10;

struct Order {
  uint64_t id;
  uint64_t trader;
  bool buys;
  int64_t cents;  // price per share
  int64_t shares;  // number of shares still wanted; 0: the order is complete
};
struct Account {
  int64_t cents, shares;
};
// The only root of the heap. All its bytes are 0 at first, which makes its maps empty.
struct Book {
  uint64_t orders;        // number of orders placed; ids begin at 1
  int64_t traded_shares;
  elider::HeapMap<uint64_t, Order> by_id;
  elider::HeapOrderedMap<uint64_t, uint64_t> buys, sells;  // ids of open orders, by rank
  elider::HeapMap<uint64_t, Account> accounts;
};

// Returns the key that sorts the orders of one side: the best price comes first, and among equal
// prices the oldest order.
uint64_t rank_of(const Order& order) {
  const int64_t price = order.buys ? INT32_MAX - order.cents : order.cents;
  return static_cast<uint64_t>(price) << 32 | order.id;
}

// Generates the order with this id. The same id always gives the same order.
Order generated(uint64_t id) {
  std::mt19937_64 random(id);
  const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
  return {id, random() % kTraders, below(2) == 0, 95'00 + below(10'00), 1 + below(100)};
}

Status add_to(HeapTransaction& txn, Book& book, uint64_t trader, int64_t cents, int64_t shares) {
  Account account{};
  if (auto known = book.accounts.get(txn, trader); known.ok()) account = *known;
  return book.accounts.put(txn, trader, {account.cents + cents, account.shares + shares});
}

// Trades with the best orders of the other side while the prices match. Whatever is left of the
// order stays in the book.
Status place(HeapTransaction& txn, Book& book, Order order) {
  auto& others = order.buys ? book.sells : book.buys;
  while (order.shares > 0) {
    const auto best = others.first(txn);
    if (!best.ok()) break;
    ELIDER_ASSIGN(Order other, book.by_id.get(txn, best->value));
    if (order.buys ? other.cents > order.cents : other.cents < order.cents) break;
    const int64_t traded = std::min(order.shares, other.shares);
    const int64_t bought = order.buys ? traded : -traded;
    ELIDER_TRY(add_to(txn, book, order.trader, -bought * other.cents, bought));
    ELIDER_TRY(add_to(txn, book, other.trader, bought * other.cents, -bought));
    txn.write(book.traded_shares, txn.read(book.traded_shares) + traded);
    order.shares -= traded;
    other.shares -= traded;
    ELIDER_TRY(book.by_id.put(txn, other.id, other));
    if (other.shares == 0) ELIDER_TRY(others.erase(txn, rank_of(other)));
  }
  txn.write(book.orders, order.id);
  if (order.shares > 0) ELIDER_TRY((order.buys ? book.buys : book.sells).put(txn, rank_of(order), order.id));
  return book.by_id.put(txn, order.id, order);
}

// Runs in the child. Places orders, each in one transaction, and sends the id of each order to the
// parent when the order is durable. Returns only after an error.
Status work(const std::string& file, int pipe) {
  ELIDER_ASSIGN(Heap heap, Heap::open(file, 1 << 20));
  for (uint64_t id = 0;;) {
    ELIDER_TRY(heap.transaction([&](HeapTransaction& txn) -> Status {
      ELIDER_ASSIGN(auto book, txn.root<Book>("book"));
      id = txn.read(txn[book].orders) + 1;
      return place(txn, txn[book], generated(id));
    }));
    if (::write(pipe, &id, sizeof(id)) != sizeof(id)) return Status::rollback("no reader is left");
  }
}

#define DEMAND(condition) \
  if (!(condition)) return Status::rollback("broken: " #condition)

Status check_book(const HeapReader& reader, const Book& book, uint64_t acknowledged) {
  const uint64_t orders = reader.read(book.orders);
  DEMAND(orders >= acknowledged);
  int64_t bought = 0, sold = 0;
  uint64_t open_buys = 0, open_sells = 0;
  for (uint64_t id = 1; id <= orders; ++id) {
    ELIDER_ASSIGN(const Order order, book.by_id.get(reader, id));
    const Order placed = generated(id);
    DEMAND(order.trader == placed.trader && order.buys == placed.buys && order.cents == placed.cents);
    DEMAND(order.shares >= 0 && order.shares <= placed.shares);
    (order.buys ? bought : sold) += placed.shares - order.shares;
    if (order.shares == 0) continue;
    ++(order.buys ? open_buys : open_sells);
    ELIDER_ASSIGN(const uint64_t listed, (order.buys ? book.buys : book.sells).get(reader, rank_of(order)));
    DEMAND(listed == id);
  }
  DEMAND(book.by_id.size(reader) == orders && book.buys.size(reader) == open_buys && book.sells.size(reader) == open_sells);
  DEMAND(bought == sold && bought == reader.read(book.traded_shares));
  Account sum{};
  for (uint64_t trader = 0; trader < kTraders; ++trader)
    if (auto account = book.accounts.get(reader, trader); account.ok()) sum = {sum.cents + account->cents, sum.shares + account->shares};
  DEMAND(sum.cents == 0 && sum.shares == 0);

  const auto buy = book.buys.first(reader), sell = book.sells.first(reader);
  Order highest{}, lowest{};
  if (buy.ok()) { ELIDER_ASSIGN(highest, book.by_id.get(reader, buy->value)); }
  if (sell.ok()) { ELIDER_ASSIGN(lowest, book.by_id.get(reader, sell->value)); }
  DEMAND(!buy.ok() || !sell.ok() || highest.cents < lowest.cents);
  std::printf("%llu orders acknowledged, %llu found; %llu open, best bid %.2f, best offer %.2f; %lld shares traded\n",
              static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(orders),
              static_cast<unsigned long long>(open_buys + open_sells), static_cast<double>(highest.cents) / 100,
              static_cast<double>(lowest.cents) / 100, static_cast<long long>(bought));
  return {};
}

// Opens the heap, which replays the log, and checks that each order is complete or absent.
Status check(const std::string& file, uint64_t acknowledged) {
  ELIDER_ASSIGN(Heap heap, Heap::open(file, 1 << 20));
  return heap.read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto book, reader.root<Book>("book"));
    return check_book(reader, reader[book], acknowledged);
  });
}

// Starts a child, lets it place some orders, and kills it. *acknowledged receives the id of the
// last order that the child reported.
Status kill_one(const std::string& file, std::mt19937_64& random, uint64_t* acknowledged) {
  int ends[2];
  if (::pipe(ends) != 0) return Status::rollback("no pipe");
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) return Status::rollback("no child");
  if (child == 0) {
    ::close(ends[0]);
    std::fprintf(stderr, "%s\n", work(file, ends[1]).message().c_str());
    std::_Exit(1);
  }
  ::close(ends[1]);
  for (uint64_t i = 1 + random() % 300; i > 0 && ::read(ends[0], acknowledged, sizeof(*acknowledged)) > 0; --i) {
  }
  ::usleep(static_cast<useconds_t>(random() % 2000));
  ::kill(child, SIGKILL);
  while (::read(ends[0], acknowledged, sizeof(*acknowledged)) > 0) {
  }
  ::close(ends[0]);
  int how = 0;
  ::waitpid(child, &how, 0);
  return WIFSIGNALED(how) ? Status() : Status::rollback("the child failed by itself");
}

Status run(const std::string& file) {
  std::mt19937_64 random(std::random_device{}());
  uint64_t acknowledged = 0;
  for (int kill = 1; kill <= 8; ++kill) {
    ELIDER_TRY(kill_one(file, random, &acknowledged));
    std::printf("kill %d: ", kill);
    ELIDER_TRY(check(file, acknowledged));
  }
  std::printf("no acknowledged order was lost, no order is incomplete, and cash and shares are conserved\n");
  return {};
}

}  // namespace

int main(int count, char** words) {
  const std::string own = (std::filesystem::temp_directory_path() / ("order_book." + std::to_string(::getpid()) + ".heap")).string();
  const elider::Status status = run(count > 1 ? words[1] : own);
  if (count == 1) std::filesystem::remove(own);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
