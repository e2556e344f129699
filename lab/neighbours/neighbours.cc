#include "lab/neighbours/neighbours.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "elider/elider.h"

namespace elider::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Item {
  uint64_t value = 0;
};

SchemaOf<Item> schema_of(Meeting meeting) {
  SchemaOf<Item> schema("items");
  schema.key_index(KeyIndex::kOrdered).column("value", &Item::value);
  const auto value = [](const Item& item) { return item.value; };
  if (meeting == Meeting::kUnique) schema.unique_index("by_value", {"value"}, value);
  if (meeting == Meeting::kScanned) schema.index("by_value", {"value"}, value);
  return schema;
}

struct Place {
  Database database;
  Table<Item> table;
  Index<Item> by_value;
  Meeting meeting;
};

Result<Place> make_place(Meeting meeting, SyncPolicy sync) {
  Options options;
  options.sync = sync;
  auto database = Database::open(options);
  if (!database.ok()) return database.status();
  auto table = database->create_table(schema_of(meeting));
  if (!table.ok()) return table.status();
  Place place{std::move(database).value(), *table, {}, meeting};
  if (meeting == Meeting::kKey) return place;
  auto index = place.database.index(place.table, "by_value");
  if (!index.ok()) return index.status();
  place.by_value = *index;
  return place;
}

Status insert_one(Place& place, std::atomic<uint64_t>& next, std::chrono::milliseconds think) {
  return place.database.run([&](Transaction& txn) -> Status {
    const uint64_t value = next.fetch_add(1);
    uint64_t found = 0;
    if (place.meeting == Meeting::kScanned) {
      const Status status = txn.scan(place.by_value, {value, value}, {}, [&](Key, const View<Item>&) { return ++found > 0; });
      if (!status.ok()) return status;
    }
    if (found != 0) return Status::invalid_argument("a scan found a row with a value that was not inserted");
    if (Status status = txn.insert(place.table, value, Item{value}); !status.ok()) return status;
    std::this_thread::sleep_for(think);
    return {};
  });
}

Result<NeighboursFigure> measure(Meeting meeting, uint32_t threads, const NeighboursOptions& options) {
  auto place = make_place(meeting, options.sync);
  if (!place.ok()) return place.status();
  std::atomic<uint64_t> next{1}, commits{0};
  std::atomic<bool> over{false};
  std::vector<Status> failures(threads);
  std::vector<std::thread> workers;
  const auto begin = Clock::now();
  for (uint32_t i = 0; i < threads; ++i)
    workers.emplace_back([&, i] {
      while (!over.load() && failures[i].ok()) {
        failures[i] = insert_one(*place, next, std::chrono::milliseconds(options.think_ms));
        if (failures[i].ok()) commits.fetch_add(1);
      }
    });
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const uint64_t in_time = commits.load();
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  over = true;
  for (std::thread& worker : workers) worker.join();
  for (const Status& failure : failures)
    if (!failure.ok()) return failure;
  uint64_t rows = 0;
  const Status counted = place->database.run_read_only([&](Transaction& txn) {
    rows = 0;
    return txn.scan(place->table, {}, {}, [&](Key, const View<Item>&) { return ++rows > 0; });
  });
  if (!counted.ok()) return counted;
  if (rows != commits.load())
    return Status::invalid_argument(fmt::format("the table has {} rows, but the number of commits is {}", rows, commits.load()));
  if (Status status = place->database.verify(); !status.ok()) return status;
  return NeighboursFigure{meeting, threads, static_cast<double>(in_time) / seconds, commits.load(),
                          next.load() - 1 - commits.load()};
}

}  // namespace

std::string_view name_of(Meeting meeting) {
  switch (meeting) {
    case Meeting::kKey: return "key";
    case Meeting::kUnique: return "unique";
    case Meeting::kScanned: return "scanned";
  }
  return "?";
}

Result<std::vector<NeighboursFigure>> run_neighbours(const NeighboursOptions& options) {
  std::vector<NeighboursFigure> figures;
  for (const uint32_t threads : options.threads)
    for (const Meeting meeting : {Meeting::kKey, Meeting::kUnique, Meeting::kScanned}) {
      auto figure = measure(meeting, threads, options);
      if (!figure.ok()) return figure.status();
      figures.push_back(*figure);
    }
  return figures;
}

}  // namespace elider::bench
