// The stock of a shop: an example of column groups, additions, a secondary index and scans.
//
// Each article has columns that rarely change (supplier, price) and two counters that change often
// (in stock, views). Each counter has its own column group, so a customer who looks at the price
// does not conflict with a customer who buys. Views are counted with `add`, so any number of
// customers can view an article concurrently.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "elider/elider.h"

using elider::Key;
using elider::Status;
using elider::Transaction;
using elider::View;

struct Article {
  uint32_t supplier;
  uint32_t price_cents;
  int64_t in_stock;
  uint64_t views;
};

namespace {

constexpr Key kArticles = 500;
constexpr int64_t kInitialStock = 100;
constexpr uint64_t kVisits = 50'000;  // per thread

Status run() {
  elider::Options options;
  options.schemas = {elider::SchemaOf<Article>("articles")
                         .column("supplier", &Article::supplier)
                         .column("price_cents", &Article::price_cents)
                         .column("in_stock", &Article::in_stock)
                         .column("views", &Article::views)
                         .group({"in_stock"})
                         .group({"views"})
                         .index("by_supplier", {"supplier"}, [](const Article& a) { return uint64_t{a.supplier}; })};
  ELIDER_ASSIGN(auto db, elider::Database::open(options));
  ELIDER_ASSIGN(auto articles, db.table<Article>("articles"));
  ELIDER_ASSIGN(auto by_supplier, db.index(articles, "by_supplier"));
  const auto price = articles.columns(&Article::price_cents);
  const auto stock = articles.columns(&Article::in_stock);

  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    for (Key key = 0; key < kArticles; ++key) {
      const Article article{static_cast<uint32_t>(key % 10), static_cast<uint32_t>(199 + key), kInitialStock, 0};
      ELIDER_TRY(txn.insert(articles, key, article));
    }
    return {};
  }));

  // Every visit reads the price of an article. Every tenth visit also buys the article, if it is in
  // stock.
  std::atomic<uint64_t> sold{0}, revenue_cents{0}, failures{0};
  const auto visit = [&](uint64_t seed) {
    for (uint64_t i = 0; i < kVisits; ++i) {
      const Key key = (seed + i) * 7919 % kArticles;
      bool bought = false;
      uint32_t paid = 0;
      Status visited = db.run([&](Transaction& txn) {
        bought = false;
        ELIDER_ASSIGN(auto seen, txn.get(articles, key, price));
        paid = seen->price_cents;
        if (i % 10 == 0)
          ELIDER_TRY(txn.update(articles, seen, stock, [&](Article& a) {
            bought = a.in_stock > 0;
            a.in_stock -= bought;
          }));
        return txn.add(articles, key, &Article::views, uint64_t{1});
      });
      if (!visited.ok()) ++failures;
      if (visited.ok() && bought) {
        ++sold;
        revenue_cents += paid;
      }
    }
  };
  {
    std::jthread one(visit, 1), other(visit, 1234);
  }

  // Checks the totals on one snapshot, first through the key index and then through the index by
  // supplier.
  uint64_t views = 0, rows_by_supplier = 0;
  int64_t left = 0, left_by_supplier = 0;
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) {
    ELIDER_TRY(txn.scan(articles, {}, {}, [&](Key, const View<Article>& a) {
      views += a->views;
      left += a->in_stock;
    }));
    return txn.scan(by_supplier, {0, 9}, {}, [&](Key, const View<Article>& a) {
      left_by_supplier += a->in_stock;
      ++rows_by_supplier;
    });
  }));
  std::printf("%llu visits counted, %llu articles sold for %llu.%02llu, %lld left\n", static_cast<unsigned long long>(views),
              static_cast<unsigned long long>(sold), static_cast<unsigned long long>(revenue_cents / 100),
              static_cast<unsigned long long>(revenue_cents % 100), static_cast<long long>(left));
  std::printf("%llu attempts were retried after a conflict\n", static_cast<unsigned long long>(db.statistics().conflicts_total()));

  // Finds the last three articles of supplier 3, in key order, by a reverse scan of the index.
  // These are also the supplier's most expensive ones.
  ELIDER_TRY(db.run_read_only([&](Transaction& txn) {
    return txn.scan(by_supplier, {3, 3}, {.limit = 3, .reverse = true}, [](Key key, const View<Article>& a) {
      std::printf("  supplier 3, article %llu: %u.%02u, %lld in stock\n", static_cast<unsigned long long>(key), a->price_cents / 100,
                  a->price_cents % 100, static_cast<long long>(a->in_stock));
    });
  }));
  const bool books_balance = views == 2 * kVisits && left + static_cast<int64_t>(sold) == kInitialStock * int64_t{kArticles} &&
                             left_by_supplier == left && rows_by_supplier == kArticles && failures == 0;
  std::printf("the books %s\n", books_balance ? "balance" : "DO NOT BALANCE");
  return books_balance ? Status() : Status::rollback("the books do not balance");
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
