// Compares the C interface with the C++ interface: runs the transactions of YCSB A (half reads,
// half updates of a field) and YCSB C (reads) on rows of ten fields of 100 bytes, in turns, in one
// process. Prints the throughput of each, and the median of their ratios.
//
// usage: c_speed [TRANSACTIONS [ROUNDS]]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "elider/c.h"
#include "elider/elider.h"

namespace {

constexpr uint64_t kRecords = 100'000;
struct Record {
  std::array<std::array<char, 100>, 10> fields;
};

void must(bool ok) {
  if (!ok) std::abort();
}

// The next pseudo-random number (xorshift).
uint64_t next(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

struct Work {
  uint64_t key;
  unsigned field;
  bool update;
  uint64_t sum = 0;  // of what was read
};
uint64_t sum_of(const Record& record) {
  uint64_t sum = 0;
  for (const auto& field : record.fields) sum += static_cast<unsigned char>(field[0]);
  return sum;
}

struct Cpp {
  elider::Database database;
  elider::Table<Record> table;
  std::vector<elider::Columns<Record>> columns;
  Cpp() {
    auto opened = elider::Database::open();
    must(opened.ok());
    database = *std::move(opened);
    elider::Schema schema;
    schema.name = "records";
    schema.row_bytes = sizeof(Record);
    for (uint32_t i = 0; i < 10; ++i) schema.columns.push_back({"f" + std::to_string(i), elider::ColumnType::kBytes, i * 100, 100, 0});
    const auto created = database.create_table(schema);
    must(created.ok());
    table = elider::Table<Record>(created->base());
    for (uint32_t i = 0; i < 10; ++i) {
      const auto found = database.columns(*created, std::vector<std::string>{"f" + std::to_string(i)});
      must(found.ok());
      columns.emplace_back(found->set());
    }
    const Record record{};
    for (uint64_t key = 0; key < kRecords; ++key)
      must(database.run([&](elider::Transaction& txn) { return txn.insert(table, key, record); }).ok());
  }
  void run(Work& work, const Record& record) {
    must(database.run([&](elider::Transaction& txn) -> elider::Status {
      if (work.update) return txn.write(table, work.key, columns[work.field], record);
      const auto view = txn.get(table, work.key);
      if (view.ok()) work.sum += sum_of(**view);
      return view.status();
    }).ok());
  }
};

struct C {
  elider_database* database = nullptr;
  elider_table* table = nullptr;
  const elider_columns* columns[10] = {};
  struct Call {
    C& its;
    Work& work;
    const Record& record;
  };
  static elider_code body(elider_transaction* txn, void* context) {
    const Call& call = *static_cast<Call*>(context);
    const elider_key key = elider_number(call.work.key);
    if (call.work.update)
      return elider_write(txn, call.its.table, key, call.its.columns[call.work.field], &call.record, sizeof(Record), nullptr);
    elider_row row;
    const elider_code code = elider_get(txn, call.its.table, key, nullptr, &row, nullptr);
    if (code == ELIDER_OK) call.work.sum += sum_of(*static_cast<const Record*>(row.data));
    return code;
  }
  static elider_code insert(elider_transaction* txn, void* context) {
    const Call& call = *static_cast<Call*>(context);
    return elider_insert(txn, call.its.table, elider_number(call.work.key), &call.record, sizeof(Record), nullptr);
  }
  C() {
    must(elider_open(nullptr, nullptr, &database, nullptr) == ELIDER_OK);
    elider_schema* const schema = elider_schema_new("records", ELIDER_KEYS_NUMBERS, ELIDER_ROWS_FIXED);
    elider_schema_row_bytes(schema, sizeof(Record));
    for (uint32_t i = 0; i < 10; ++i)
      elider_schema_fixed_column(schema, ("f" + std::to_string(i)).c_str(), ELIDER_TYPE_BYTES, size_t{i} * 100, 100, 0);
    must(elider_create_table(database, schema, &table, nullptr) == ELIDER_OK);
    elider_schema_free(schema);
    for (uint32_t i = 0; i < 10; ++i) {
      const std::string name = "f" + std::to_string(i);
      const char* const names[] = {name.c_str()};
      must(elider_find_columns(table, names, 1, &columns[i], nullptr) == ELIDER_OK);
    }
    const Record record{};
    for (uint64_t key = 0; key < kRecords; ++key) {
      Work work{key, 0, true};
      Call call{*this, work, record};
      must(elider_run(database, insert, &call, nullptr, nullptr) == ELIDER_OK);
    }
  }
  ~C() { must(elider_close(database, nullptr) == ELIDER_OK); }
  void run(Work& work, const Record& record) {
    Call call{*this, work, record};
    must(elider_run(database, body, &call, nullptr, nullptr) == ELIDER_OK);
  }
};

template <class Side>
double seconds(Side& side, unsigned updates_of_100, uint64_t transactions) {
  uint64_t state = 88172645463325252u;
  Record record{};
  Work work{};
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < transactions; ++i) {
    const uint64_t random = next(state);
    work.key = random % kRecords;
    work.update = (random >> 32) % 100 < updates_of_100;
    work.field = static_cast<unsigned>((random >> 48) % 10);
    record.fields[work.field][0] = static_cast<char>(random);
    side.run(work, record);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t transactions = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
  const unsigned rounds = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 11;
  Cpp cpp;
  C c;
  for (const unsigned updates : {50u, 0u}) {
    std::vector<double> ratios, of_cpp, of_c;
    for (unsigned round = 0; round < rounds; ++round) {
      const bool c_first = round % 2 == 1;
      double c_seconds = c_first ? seconds(c, updates, transactions) : 0;
      const double cpp_seconds = seconds(cpp, updates, transactions);
      if (!c_first) c_seconds = seconds(c, updates, transactions);
      ratios.push_back(cpp_seconds / c_seconds);
      of_cpp.push_back(static_cast<double>(transactions) / cpp_seconds);
      of_c.push_back(static_cast<double>(transactions) / c_seconds);
    }
    for (auto* const list : {&ratios, &of_cpp, &of_c}) std::sort(list->begin(), list->end());
    std::printf("YCSB %c: C++ %.0f txn/s, C %.0f txn/s, ratio %.3f (%.3f to %.3f)\n", updates == 0 ? 'C' : 'A', of_cpp[rounds / 2],
                of_c[rounds / 2], ratios[rounds / 2], ratios.front(), ratios.back());
  }
  return 0;
}
