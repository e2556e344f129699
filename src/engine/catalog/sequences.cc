#include "engine/catalog/sequences.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <thread>
#include <utility>

#include "base/fork.h"
#include "base/test_points.h"
#include "engine/engine.h"

namespace elider {

namespace detail {

namespace {

constexpr uint32_t kZonesMax = 128;
constexpr std::string_view kReserved = "elider_";
// An application may have created a table with the first name before the name was reserved. The
// sequences then use the second name.
constexpr const char* kTableNames[] = {"elider_sequences", "elider_sequences_2"};

SchemaOf<SequenceRow> sequence_schema(const char* name) {
  SchemaOf<SequenceRow> schema(name);
  schema.ordered().column("name", &SequenceRow::name).column("next", &SequenceRow::next);
  return schema;
}

// Twice the number of processors, so that two threads seldom share a zone.
uint32_t zones_of_this_machine() { return std::min(std::bit_ceil(2 * std::max(1u, std::thread::hardware_concurrency())), kZonesMax); }

uint32_t number_of_thread() {
  static std::atomic<uint32_t> threads{0};
  thread_local const uint32_t mine = threads.fetch_add(1);
  return mine;
}

// Returns the policy of the transactions that the sequences themselves run.
RunPolicy own_policy(const Engine& engine) {
  static constexpr uint32_t kOnePartition[] = {0};
  RunPolicy policy;
  if (engine.can_promise(Durability::kGroup)) policy.durability = Durability::kGroup;
  policy.partitions = kOnePartition;
  return policy;
}

}  // namespace

SequenceState::SequenceState(Engine& engine, Table<SequenceRow> table, Key key, std::string name, uint32_t chunk)
    : engine_(engine), table_(table), key_(key), name_(std::move(name)), chunk_(chunk), zone_count_(zones_of_this_machine()),
      zones_(new CacheLine<Zone>[zone_count_]) {}

bool SequenceState::take(Zone& zone, uint64_t* number) {
  const std::lock_guard taken(zone.latch);
  Chunk& current = zone.current;
  if (current.empty()) [[unlikely]] {
    if (zone.more.empty()) return false;
    current = zone.more.back();
    zone.more.pop_back();
  }
  *number = current.next++;
  return true;
}

// A forked child must not use the chunks: they belong to the parent, so the child would assign the
// same numbers as the parent.
Status SequenceState::next(uint64_t* number) {
  if (engine_.in_child()) [[unlikely]] return opened_before_fork("database");
  Zone& zone = *zones_[number_of_thread() & (zone_count_ - 1)];
  if (take(zone, number)) [[likely]] return {};
  Chunk chunk;
  if (Status status = fetch(&chunk); !status.ok()) return status;
  ELIDER_TEST_POINT("sequences.fetched");
  *number = chunk.next++;
  const std::lock_guard taken(zone.latch);
  if (!ELIDER_MUTANT(kIgnoreVersionFloor)) chunk.drop_below(floor_.load());
  if (chunk.empty()) return {};
  if (zone.current.empty()) {
    zone.current = chunk;
    return {};
  }
  try {
    zone.more.push_back(chunk);
  } catch (const std::bad_alloc&) {  // the chunk's numbers are lost
  }
  return {};
}

// Updates the sequence's row by its key, without reading the row as a view first. If a transaction
// writes a row that it has read, it may have to wait for all older transactions (txn/timestamp),
// and one of these may be the transaction whose procedure requested the number.
Status SequenceState::change_row(FunctionRef<Status(SequenceRow& row)> change) {
  return engine_.run(
      [&](Transaction& txn) -> Status {
        Status changed;
        Status status = txn.update(table_, key_, {}, [&](SequenceRow& row) { changed = change(row); });
        return status.ok() ? changed : status;
      },
      own_policy(engine_), false);
}

Status SequenceState::fetch(Chunk* chunk) {
  const uint64_t wanted = chunk_.load(std::memory_order_relaxed);
  return change_row([&](SequenceRow& row) -> Status {
    if (row.next > Sequence::kNumberMax) return Status::invalid_argument("sequence '" + name_ + "': all its numbers are used");
    *chunk = {row.next, std::min(row.next + wanted, Sequence::kNumberMax + 1)};
    row.next = chunk->end;
    return {};
  });
}

Status SequenceState::at_least(uint64_t number) {
  if (number > Sequence::kNumberMax)
    return Status::invalid_argument("sequence '" + name_ + "': at_least(" + std::to_string(number) + ") is above its largest number, " +
                                    std::to_string(Sequence::kNumberMax));
  Status status = change_row([&](SequenceRow& row) -> Status {
    row.next = std::max(row.next, number);
    return {};
  });
  if (!status.ok()) return status;
  ELIDER_TEST_POINT("sequences.raised");
  for (uint64_t floor = floor_.load(); floor < number && !floor_.compare_exchange_weak(floor, number);) {
  }
  for (uint32_t i = 0; i < zone_count_; ++i) {
    Zone& zone = *zones_[i];
    const std::lock_guard taken(zone.latch);
    zone.current.drop_below(number);
    for (Chunk& chunk : zone.more) chunk.drop_below(number);
    std::erase_if(zone.more, [](const Chunk& chunk) { return chunk.empty(); });
  }
  return {};
}

bool is_reserved_name(std::string_view name) { return name.starts_with(kReserved); }

Status check_reserved_name(const Schema& schema) {
  if (!is_reserved_name(schema.name)) return {};
  for (const char* const name : kTableNames)
    if (schema.name == name && storage::difference(sequence_schema(name).schema(), schema).empty()) return {};
  return refuse_reserved_name(schema.name);
}

Status refuse_reserved_name(std::string_view name) {
  return Status::invalid_argument("table '" + std::string(name) + "': names that begin with '" + std::string(kReserved) +
                                  "' are reserved for the database's own tables; choose another name");
}

Status Sequences::find(Engine& engine, std::string_view name, const SequenceOptions& options, SequenceState** state) {
  if (name.empty() || name.size() > sizeof(SequenceRow::name) || name.find('\0') != name.npos)
    return Status::invalid_argument("sequence '" + std::string(name) + "': the name must have 1 to 64 bytes, none of them zero");
  if (options.chunk == 0 || options.chunk > Sequence::kChunkMax)
    return Status::invalid_argument("sequence '" + std::string(name) + "': SequenceOptions::chunk is " + std::to_string(options.chunk) +
                                    "; it must be 1 to " + std::to_string(Sequence::kChunkMax));
  if (options.start == 0 || options.start > Sequence::kNumberMax)
    return Status::invalid_argument("sequence '" + std::string(name) + "': SequenceOptions::start is " + std::to_string(options.start) +
                                    "; it must be 1 to " + std::to_string(Sequence::kNumberMax));
  const std::string its_name(name);
  const auto find_it = [&] {
    const std::lock_guard lock(mutex_);
    const auto found = by_name_.find(its_name);
    return found == by_name_.end() ? nullptr : found->second.get();
  };
  *state = find_it();
  if (*state == nullptr) {
    std::unique_ptr<SequenceState> opened;
    if (Status status = open(engine, its_name, options, &opened); !status.ok()) return status;
    const std::lock_guard lock(mutex_);
    *state = by_name_.try_emplace(its_name, std::move(opened)).first->second.get();
  }
  (*state)->set_chunk(options.chunk);
  return {};
}

// Opens the sequence's row, and inserts the row if it does not exist. open() does not hold a lock,
// because its transaction may have to wait for a procedure that itself waits for the sequence.
Status Sequences::open(Engine& engine, const std::string& name, const SequenceOptions& options, std::unique_ptr<SequenceState>* state) {
  Result<TableRef> created = engine.create_table(sequence_schema(kTableNames[0]));
  if (created.status().code() == Code::kSchemaMismatch) created = engine.create_table(sequence_schema(kTableNames[1]));
  if (!created.ok()) return created.status();
  const Table<SequenceRow> table(created->base());
  SequenceRow wanted{};
  std::memcpy(wanted.name, name.data(), name.size());
  wanted.next = options.start;
  Key key = 0;
  Status status = engine.run(
      [&](Transaction& txn) -> Status {
        Key last = 0;
        key = 0;
        Status scanned = txn.scan(table, KeyRange{}, {}, [&](Key at, const View<SequenceRow>& row) {
          last = at;
          if (std::memcmp(row->name, wanted.name, sizeof wanted.name) == 0) key = at;
          return key == 0;
        });
        if (!scanned.ok() || key != 0) return scanned;
        key = last + 1;
        return txn.insert(table, key, wanted);
      },
      own_policy(engine), false);
  if (status.ok()) *state = std::make_unique<SequenceState>(engine, table, key, name, options.chunk);
  return status;
}

}  // namespace detail

Result<Sequence> Database::sequence(std::string_view name, const SequenceOptions& options) {
  if (Status status = refuse_unusable(); !status.ok()) return status;
  detail::SequenceState* state = nullptr;
  if (Status status = engine_->sequences().find(*engine_, name, options, &state); !status.ok()) return status;
  return Sequence(state);
}

namespace {
Status of_no_database() { return Status::invalid_argument("the Sequence is empty; Database::sequence() returns a usable one"); }
}  // namespace

Result<uint64_t> Sequence::next() {
  uint64_t number = 0;
  if (state_ == nullptr) return of_no_database();
  if (Status status = state_->next(&number); !status.ok()) return status;
  return number;
}

Status Sequence::at_least(uint64_t number) { return state_ == nullptr ? of_no_database() : state_->at_least(number); }

}  // namespace elider
