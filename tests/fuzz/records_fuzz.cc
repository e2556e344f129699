// What the engine makes of a log's records: the input is a row of records, each two bytes of size
// and then its bytes, which become a whole log of one frame. A database is opened on it. What it
// accepts holds together: it verifies, and comes back the same when it is opened once more.
#include <cstring>

#include "elider/elider.h"
#include "tests/fuzz/fuzz_database.h"

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

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  elider::fuzz::open_twice(elider::fuzz::files_with_segment(elider::fuzz::segment_of(data, size)));
  return 0;
}
