// What the tuple decoders make of arbitrary bytes, which is the input. They refuse them, or decode
// them to fields whose encoding is these bytes. The encoder takes the input as text and as bytes.
#include <algorithm>

#include "elider/tuple.h"
#include "tests/fuzz/fuzz_support.h"

namespace elider::fuzz {
namespace {

using Input = std::span<const std::byte>;

bool same(Input a, Input b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// Whether the bytes are a tuple.
bool read_and_write(Input bytes) {
  std::vector<std::byte> buffer(kTupleBytesMax);
  TupleReader reader(bytes);
  TupleWriter writer(buffer);
  for (TupleField field; reader.next(&field);) writer.add(field);
  demand(reader.status().ok() == check_tuple(bytes).ok(), "two readers agree");
  if (!reader.status().ok()) {
    demand(reader.status().code() == Code::kInvalidArgument, "refused bytes are an invalid argument");
    return false;
  }
  const Result<size_t> size = writer.finish();
  demand(size.ok(), "what is read can be written");
  demand(same(Input(buffer).first(*size), bytes), "what is written is what was read");
  demand(prefix().contains(bytes), "the empty prefix contains all tuples");
  return true;
}

template <class Tuple>
void decode(Input bytes, bool is_tuple) {
  TupleScratch scratch;
  const Result<Tuple> tuple = decode_tuple<Tuple>(bytes, scratch);
  if (!tuple.ok()) return demand(tuple.status().code() == Code::kInvalidArgument, "refused bytes are an invalid argument");
  demand(is_tuple, "a reader reads what is decoded");
  EncodedTuple again;
  demand(again.set_tuple(*tuple).ok(), "what is decoded can be encoded");
  demand(same(again.bytes(), bytes), "what is encoded is what was decoded");
}

void encode(Input bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EncodedTuple key;
  TupleScratch scratch;
  using Fields = std::tuple<Descending<std::span<const std::byte>>, std::tuple<std::span<const std::byte>>>;
  if (key.set(Descending{bytes}, std::tuple(bytes)).ok()) {
    const auto fields = decode_tuple<Fields>(key.bytes(), scratch);
    demand(fields.ok() && same(std::get<0>(*fields).value, bytes) && same(std::get<0>(std::get<1>(*fields)), bytes),
           "bytes are decoded as they were");
  }
  if (key.set(text, Descending{text}).ok()) {
    const auto fields = decode_tuple<std::tuple<std::string_view, Descending<std::string>>>(key.bytes(), scratch);
    demand(fields.ok() && std::get<0>(*fields) == text && std::get<1>(*fields).value == text, "text is decoded as it was");
    demand(prefix(StartsWith{text.substr(0, 0)}).contains(key.bytes()), "all texts begin with the empty text");
  }
}

}  // namespace
}  // namespace elider::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace elider;
  using namespace elider::fuzz;
  const std::vector<std::byte> bytes = bytes_of(data, size);
  const bool is_tuple = read_and_write(bytes);
  demand(!tuple_to_text(bytes).empty(), "a tuple has a text");
  decode<std::tuple<std::string_view, int64_t>>(bytes, is_tuple);
  decode<std::tuple<std::string, uint32_t, std::optional<int8_t>>>(bytes, is_tuple);
  decode<std::tuple<Descending<std::string_view>, Descending<uint64_t>>>(bytes, is_tuple);
  decode<std::tuple<std::span<const std::byte>, Descending<Uuid>, bool>>(bytes, is_tuple);
  decode<std::tuple<std::optional<double>, float, Descending<Timestamp>>>(bytes, is_tuple);
  decode<std::tuple<std::tuple<int64_t, Descending<std::tuple<std::string>>>, std::nullptr_t>>(bytes, is_tuple);
  if (is_tuple && 2 * size <= kTupleBytesMax) {
    std::vector<std::byte> twice = bytes;
    twice.insert(twice.end(), bytes.begin(), bytes.end());
    demand(read_and_write(twice), "one tuple after another is a tuple");
  }
  encode(bytes);
  return 0;
}
