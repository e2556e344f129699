#include "bench/tpcc/load.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>
#include <vector>

#include "bench/tpcc/clock.h"

namespace elider::bench::tpcc {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kBoth = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

constexpr uint32_t kRowsATransaction = 500;
constexpr uint32_t kStockRowsAPart = 10'000;

// Loading uses the streams of Random from this number on, so that they differ from those of the
// run's threads.
constexpr uint64_t kPartStreams = uint64_t{2} << 32;

// Inserts the rows of one part, in transactions of kRowsATransaction rows.
class RowBatch {
 public:
  RowBatch(Database& db, LoadProgress& progress) : db_(db), progress_(progress) {}

  template <class Row>
  Status insert(const Table<Row>& table, Key key, const Row& row) {
    if (rows_ == 0) {
      auto begun = db_.begin();
      if (!begun.ok()) return begun.status();
      txn_ = std::move(*begun);
    }
    if (Status status = txn_->insert(table, key, row); !status.ok()) return status;
    return ++rows_ < kRowsATransaction ? Status() : commit();
  }
  Status commit() {
    if (rows_ == 0) return {};
    progress_.add(rows_);
    rows_ = 0;
    return txn_.commit();
  }

 private:
  Database& db_;
  LoadProgress& progress_;
  ActiveTransaction txn_;
  uint32_t rows_ = 0;
};

class Loader {
 public:
  Loader(const Tables& tables, const Workload& workload, RowBatch& batch, uint64_t part)
      : tables_(tables), workload_(workload), batch_(batch), random_(workload.seed, kPartStreams + part), now_(now_seconds()) {}

  Status load_items();
  Status load_warehouse(uint32_t warehouse);
  Status load_stock(uint32_t warehouse, uint32_t first, uint32_t last);
  Status load_district(uint32_t warehouse, uint32_t district);

 private:
  Status load_customer(uint32_t warehouse, uint32_t district, uint32_t id);
  Status load_order(uint32_t warehouse, uint32_t district, uint32_t id, uint32_t customer);
  Status load_lines(const Order& order, uint32_t id, bool delivered);

  uint32_t between(uint32_t first, uint32_t last) { return static_cast<uint32_t>(random_.between(first, last)); }
  bool percent(uint32_t share) { return random_.below(100) < share; }
  // Fills `text` with `length_min` to N random characters from `from`.
  template <size_t N>
  void fill(Text<N>& text, uint32_t length_min, std::string_view from = kBoth) {
    const uint32_t length = between(length_min, N);
    for (uint32_t i = 0; i < length; ++i) text[i] = from[random_.below(from.size())];
  }
  // Fills an item's or a stock row's `data` with a random string. One in ten contains ORIGINAL.
  void fill_data(Text<50>& data) {
    data = {};
    const uint32_t length = between(26, 50);
    for (uint32_t i = 0; i < length; ++i) data[i] = kBoth[random_.below(kBoth.size())];
    if (percent(10)) std::memcpy(data.data() + between(0, length - 8), "ORIGINAL", 8);
  }
  template <class Row>
  void fill_address(Row& row) {
    fill(row.street_1, 10);
    fill(row.street_2, 10);
    fill(row.city, 10);
    fill(row.state, 2, kLetters);
    fill(row.zip, 9, kDigits);
    std::fill(row.zip.begin() + 4, row.zip.end(), '1');
  }

  const Tables& tables_;
  const Workload& workload_;
  RowBatch& batch_;
  Random random_;
  int64_t now_;
};

Status Loader::load_items() {
  for (uint32_t id = 1; id <= workload_.sizes.items; ++id) {
    Item item{};
    item.image = between(1, 10'000);
    item.price = between(1'00, 100'00);
    fill(item.name, 14);
    fill_data(item.data);
    if (Status status = batch_.insert(tables_.item, ItemKey::pack_unchecked(id), item); !status.ok()) return status;
  }
  return batch_.commit();
}

Status Loader::load_warehouse(uint32_t id) {
  Warehouse warehouse{};
  warehouse.ytd = int64_t{workload_.sizes.customers} * kDistricts * 10'00;  // the sum of its customers' payments
  warehouse.tax = between(0, 2000);
  fill(warehouse.name, 6);
  fill_address(warehouse);
  if (Status status = batch_.insert(tables_.warehouse, WarehouseKey::pack_unchecked(id), warehouse); !status.ok()) return status;
  return batch_.commit();
}

Status Loader::load_stock(uint32_t warehouse, uint32_t first, uint32_t last) {
  for (uint32_t item = first; item <= last; ++item) {
    Stock stock{};
    stock.quantity = static_cast<int32_t>(between(10, 100));
    fill_data(stock.data);
    for (const auto info : kDistrictInfo) fill(stock.*info, 24);
    if (Status status = batch_.insert(tables_.stock, StockKey::pack_unchecked(warehouse, item), stock); !status.ok()) return status;
  }
  return batch_.commit();
}

Status Loader::load_district(uint32_t warehouse, uint32_t id) {
  const uint32_t customers = workload_.sizes.customers;
  District district{};
  district.ytd = int64_t{customers} * 10'00;
  district.next_order = customers + 1;
  district.tax = between(0, 2000);
  fill(district.name, 6);
  fill_address(district);
  if (Status status = batch_.insert(tables_.district, DistrictKey::pack_unchecked(warehouse, id), district); !status.ok()) return status;
  for (uint32_t customer = 1; customer <= customers; ++customer)
    if (Status status = load_customer(warehouse, id, customer); !status.ok()) return status;
  // Every customer has one order. A random permutation assigns the orders to the customers.
  std::vector<uint32_t> owners(customers);
  std::iota(owners.begin(), owners.end(), 1);
  for (uint32_t i = customers; i > 1; --i) std::swap(owners[i - 1], owners[random_.below(i)]);
  for (uint32_t order = 1; order <= customers; ++order)
    if (Status status = load_order(warehouse, id, order, owners[order - 1]); !status.ok()) return status;
  return batch_.commit();
}

Status Loader::load_customer(uint32_t warehouse, uint32_t district, uint32_t id) {
  Customer customer{};
  customer.warehouse = static_cast<uint16_t>(warehouse);
  customer.district = static_cast<uint8_t>(district);
  customer.id = static_cast<uint16_t>(id);
  customer.balance = -10'00;
  customer.ytd_payment = 10'00;
  customer.payment_count = 1;
  customer.discount = between(0, 5000);
  customer.credit = {percent(10) ? 'B' : 'G', 'C'};
  customer.credit_limit = 50'000'00;
  customer.middle = {'O', 'E'};
  // The first 1,000 customers get the 1,000 names in turn, so that every name is in use.
  const uint32_t names = workload_.sizes.last_names();
  customer.last = last_name(id <= names ? id - 1 : non_uniform(random_, 255, workload_.constants.last_name_load, 0, names - 1));
  customer.since = now_;
  fill(customer.first, 8);
  fill(customer.phone, 16, kDigits);
  fill_address(customer);
  fill(customer.data, 300);
  const Key key = CustomerKey::pack_unchecked(warehouse, district, id);
  if (Status status = batch_.insert(tables_.customer, key, customer); !status.ok()) return status;

  History history{};
  history.date = now_;
  history.amount = 10'00;
  history.customer = customer.id;
  history.customer_warehouse = history.warehouse = customer.warehouse;
  history.customer_district = history.district = customer.district;
  fill(history.data, 12);
  return batch_.insert(tables_.history, HistoryKey::pack_unchecked(kLoaderSource, key), history);
}

Status Loader::load_order(uint32_t warehouse, uint32_t district, uint32_t id, uint32_t customer) {
  const bool delivered = id <= workload_.sizes.delivered_orders();
  Order order{};
  order.entry_date = now_;
  order.warehouse = static_cast<uint16_t>(warehouse);
  order.district = static_cast<uint8_t>(district);
  order.customer = static_cast<uint16_t>(customer);
  order.carrier = static_cast<uint8_t>(delivered ? between(1, 10) : 0);
  order.line_count = static_cast<uint8_t>(between(kLinesMin, kLinesMax));
  order.all_local = 1;
  const Key key = OrderKey::pack_unchecked(warehouse, district, id);
  if (Status status = batch_.insert(tables_.order, key, order); !status.ok()) return status;
  if (!delivered)
    if (Status status = batch_.insert(tables_.new_order, key, NewOrder{1}); !status.ok()) return status;
  return load_lines(order, id, delivered);
}

Status Loader::load_lines(const Order& order, uint32_t id, bool delivered) {
  for (uint32_t i = 1; i <= order.line_count; ++i) {
    OrderLine line{};
    line.delivery_date = delivered ? order.entry_date : 0;
    line.amount = delivered ? 0 : between(1, 9999'99);
    line.item = between(1, workload_.sizes.items);
    line.supply_warehouse = order.warehouse;
    line.quantity = 5;
    fill(line.district_info, 24);
    const Key key = LineKey::pack_unchecked(order.warehouse, order.district, id, i);
    if (Status status = batch_.insert(tables_.line, key, line); !status.ok()) return status;
  }
  return {};
}

// Numbers the parts of the work. Part 0 loads the items. After that, each warehouse has one part
// for its row, several parts for its stock, and one part for each district.
struct Parts {
  explicit Parts(const Sizes& sizes)
      : stock_pieces((sizes.items + kStockRowsAPart - 1) / kStockRowsAPart), a_warehouse(1 + stock_pieces + kDistricts) {}
  uint32_t stock_pieces;
  uint32_t a_warehouse;
};

Status load_part(Loader& loader, const Sizes& sizes, uint64_t part) {
  const Parts parts(sizes);
  if (part == 0) return loader.load_items();
  const auto warehouse = static_cast<uint32_t>((part - 1) / parts.a_warehouse + 1);
  const auto piece = static_cast<uint32_t>((part - 1) % parts.a_warehouse);
  if (piece == 0) return loader.load_warehouse(warehouse);
  if (piece > parts.stock_pieces) return loader.load_district(warehouse, piece - parts.stock_pieces);
  const uint32_t first = (piece - 1) * kStockRowsAPart + 1;
  return loader.load_stock(warehouse, first, std::min(first + kStockRowsAPart - 1, sizes.items));
}

}  // namespace

uint64_t expected_rows(const Sizes& sizes) {
  const uint64_t orders = uint64_t{sizes.customers};
  const uint64_t a_district = 1 + 2 * uint64_t{sizes.customers} + orders + 10 * orders + (orders - sizes.delivered_orders());
  return sizes.items + sizes.warehouses * (1 + sizes.items + kDistricts * a_district);
}

LoadResult load(const CommonOptions& options, Database& db, const Tables& tables, const Workload& workload) {
  const uint64_t parts = 1 + uint64_t{workload.sizes.warehouses} * Parts(workload.sizes).a_warehouse;
  return load_parallel(options, "TPC-C", parts, expected_rows(workload.sizes),
                       [&](uint32_t, uint64_t part, LoadProgress& progress) -> Status {
                         RowBatch batch(db, progress);
                         Loader loader(tables, workload, batch, part);
                         return load_part(loader, workload.sizes, part);
                       });
}

}  // namespace elider::bench::tpcc
