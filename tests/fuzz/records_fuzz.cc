// What the engine makes of a log's records: the input is a row of records, each two bytes of size and then its bytes,
// which become a whole log of one frame. A database is opened on it. What it accepts holds together: it verifies, and
// comes back the same when it is opened once more.
#include <cstring>

#include "elider/elider.h"
#include "tests/fuzz/fuzz_support.h"

namespace elider::fuzz {
namespace {

std::vector<std::byte> segment_of(const uint8_t* data, size_t size) {
  using namespace log;
  std::vector<std::byte> frame(kFrameHeaderBytes), segment;
  FrameHeader header;
  header.first_number = 1;
  while (size >= 2) {
    const size_t wanted = data[0] | size_t{data[1]} << 8, bytes = std::min(wanted, size - 2);
    const size_t at = frame.size();
    frame.resize(at + kRecordHeaderBytes + bytes);
    put_record_header(frame.data() + at, ++header.records, static_cast<uint32_t>(bytes));
    if (bytes != 0) std::memcpy(frame.data() + at + kRecordHeaderBytes, data + 2, bytes);
    data += 2 + bytes;
    size -= 2 + bytes;
  }
  header.last_number = header.closed = header.records;
  header.first_number = header.records == 0 ? 0 : 1;
  header.payload_bytes = static_cast<uint32_t>(frame.size() - kFrameHeaderBytes);
  const SegmentName name{1, 0, 0};
  seal(header, seed_of(kDatabase, name), frame);
  encode(SegmentHeader{kDatabase, name, 0, 0}, &segment);
  segment.insert(segment.end(), frame.begin(), frame.end());
  return segment;
}

Options small_options() {
  Options options;
  options.sync = SyncPolicy::kSingleThreaded;
  options.memory_limit_bytes = 8u << 20;
  options.huge_pages = false;
  options.workers_max = 6;
  options.data_folders = kFolders;
  options.log_buffer_bytes = 4096;
  options.log_segment_bytes = 4096;
  return options;
}

// Of all tables and rows that can be scanned.
uint64_t sum_of(Database& db) {
  uint64_t sum = 0;
  const Status status = db.run_read_only([&](Transaction& txn) -> Status {
    sum = 0;
    for (const TableRef& table : db.tables()) {
      sum = checksum(std::as_bytes(std::span(table.schema().name)), sum);
      if (table.schema().key_index != KeyIndex::kOrdered) continue;
      Status scanned = txn.scan(table, KeyRange{}, ScanOptions{}, [&](Key key, RawView view) {
        sum = checksum(std::span(view.bytes(), table.schema().row_bytes), sum ^ key);
        return true;
      });
      if (!scanned.ok()) return scanned;
    }
    return {};
  });
  demand(status.ok(), "all rows can be read");
  return sum;
}

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider;
  using namespace elider::fuzz;
  log::MemoryFiles files(files_with_segment(segment_of(data, size)));
  const log::SubstituteFiles substitute(files);
  uint64_t sum = 0;
  {
    auto db = Database::open(small_options());
    if (!db.ok()) return 0;
    demand(db->verify().ok(), "a database that was accepted verifies");
    sum = sum_of(*db);
  }
  auto again = Database::open(small_options());
  demand(again.ok() && sum_of(*again) == sum, "what was recovered is recovered again");
  return 0;
}
