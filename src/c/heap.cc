// The durable heap of the C interface (elider/c_heap.h): maps and queues of byte strings, made of
// HeapMap, HeapOrderedMap and HeapQueue. Their types are the format of the file, so they must not
// change.
#include "elider/heap.h"

#include <memory>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "c/handles.h"
#include "elider/c_heap.h"
#include "elider/heap_map.h"
#include "elider/heap_option_table.h"
#include "elider/heap_ordered_map.h"
#include "elider/heap_queue.h"

namespace elider::c_heap {

// A byte string, or a key and a value. The bytes follow in memory.
struct Blob {
  HeapPtr<Blob> next;  // another key with the same hash
  uint64_t key_bytes, value_bytes;
};
struct HashedMap {
  HeapMap<uint64_t, HeapPtr<Blob>> by_hash;
  uint64_t more;  // entries that are not the first with their hash
};
struct OrderedKey {
  uint8_t bytes[ELIDER_HEAP_ORDERED_KEY_MAX];
  uint8_t size;
  friend bool operator<(const OrderedKey& a, const OrderedKey& b) {
    const int order = std::memcmp(a.bytes, b.bytes, std::min(a.size, b.size));
    return order != 0 ? order < 0 : a.size < b.size;
  }
};
struct OrderedMap {
  HeapOrderedMap<OrderedKey, HeapPtr<Blob>> by_key;
};
struct Queue {
  HeapQueue<HeapPtr<Blob>> elements;
};

namespace {

thread_local const void* innermost = nullptr;  // the heap whose body this thread runs

std::span<const std::byte> key_of(const HeapReader& reader, HeapPtr<Blob> blob, std::string& copy) {
  copy.resize(reader.read(reader[blob].key_bytes));
  const auto bytes = std::as_writable_bytes(std::span(copy.data(), copy.size()));
  if (!bytes.empty()) reader.read_bytes(&reader[blob] + 1, bytes);
  return bytes;
}
std::span<const std::byte> value_of(const HeapReader& reader, HeapPtr<Blob> blob, std::string& copy) {
  copy.resize(reader.read(reader[blob].value_bytes));
  const auto bytes = std::as_writable_bytes(std::span(copy.data(), copy.size()));
  const auto* const at = reinterpret_cast<const std::byte*>(&reader[blob] + 1);
  if (!bytes.empty()) reader.read_bytes(at + reader.read(reader[blob].key_bytes), bytes);
  return bytes;
}
Result<HeapPtr<Blob>> make_blob(HeapTransaction& txn, std::span<const std::byte> key, std::span<const std::byte> value) {
  const auto made = txn.allocate<uint64_t>((sizeof(Blob) + key.size() + value.size() + 7) / 8);
  if (!made.ok()) return made.status();
  const auto blob = made->as<Blob>();
  txn.write(txn[blob], {{}, key.size(), value.size()});
  auto* const at = reinterpret_cast<std::byte*>(&txn[blob] + 1);
  if (!key.empty()) txn.write_bytes(at, key);
  if (!value.empty()) txn.write_bytes(at + key.size(), value);
  return blob;
}

Status missing() { return {Code::kNotFound, "the map does not contain the key"}; }
uint64_t hash_of(std::span<const std::byte> key) { return checksum(key, 0); }
Result<OrderedKey> ordered_key(std::span<const std::byte> key) {
  if (key.size() > ELIDER_HEAP_ORDERED_KEY_MAX)
    return Status::invalid_argument("the key has " + std::to_string(key.size()) + " bytes; a key of an ordered map has at most " +
                                    std::to_string(ELIDER_HEAP_ORDERED_KEY_MAX));
  OrderedKey ordered{};
  if (!key.empty()) std::memcpy(ordered.bytes, key.data(), key.size());
  ordered.size = static_cast<uint8_t>(key.size());
  return ordered;
}

// The blob of a key, and the one before it in the list of its hash, or null.
struct Found {
  HeapPtr<Blob> first, before, blob;
};
Found find(const HeapReader& reader, const HashedMap& map, std::span<const std::byte> key) {
  Found found;
  const auto first = map.by_hash.get(reader, hash_of(key));
  if (!first.ok()) return found;
  found.first = *first;
  std::string copy;
  for (found.blob = *first; found.blob; found.blob = reader.read(reader[found.blob].next)) {
    const auto its = key_of(reader, found.blob, copy);
    if (its.size() == key.size() && (key.empty() || std::memcmp(its.data(), key.data(), key.size()) == 0)) return found;
    found.before = found.blob;
  }
  return found;
}

Status put(HeapTransaction& txn, HashedMap& map, std::span<const std::byte> key, std::span<const std::byte> value) {
  const Found found = find(txn, map, key);
  ELIDER_ASSIGN(const HeapPtr<Blob> made, make_blob(txn, key, value));
  if (found.blob) {
    txn.write(txn[made].next, txn.read(txn[found.blob].next));
    ELIDER_TRY(txn.free(found.blob));
    if (found.before) return txn.write(txn[found.before].next, made), Status();
  } else if (found.first) {
    txn.write(txn[made].next, found.first);
    txn.write(map.more, txn.read(map.more) + 1);
  }
  return map.by_hash.put(txn, hash_of(key), made);
}
Status put(HeapTransaction& txn, OrderedMap& map, std::span<const std::byte> key, std::span<const std::byte> value) {
  ELIDER_ASSIGN(const OrderedKey ordered, ordered_key(key));
  const auto old = map.by_key.get(txn, ordered);
  if (old.ok()) ELIDER_TRY(txn.free(*old));
  ELIDER_ASSIGN(const HeapPtr<Blob> made, make_blob(txn, {}, value));
  return map.by_key.put(txn, ordered, made);
}
Status remove(HeapTransaction& txn, HashedMap& map, std::span<const std::byte> key) {
  const Found found = find(txn, map, key);
  if (!found.blob) return missing();
  const HeapPtr<Blob> next = txn.read(txn[found.blob].next);
  if (next || found.before) txn.write(map.more, txn.read(map.more) - 1);
  ELIDER_TRY(txn.free(found.blob));
  if (found.before) return txn.write(txn[found.before].next, next), Status();
  return next ? map.by_hash.put(txn, hash_of(key), next) : map.by_hash.erase(txn, hash_of(key));
}
Status remove(HeapTransaction& txn, OrderedMap& map, std::span<const std::byte> key) {
  ELIDER_ASSIGN(const OrderedKey ordered, ordered_key(key));
  const auto old = map.by_key.get(txn, ordered);
  if (!old.ok()) return old.status();
  ELIDER_TRY(txn.free(*old));
  return map.by_key.erase(txn, ordered);
}

}  // namespace
}  // namespace elider::c_heap

using elider::HeapPtr;
using elider::Status;
using elider::c::check_memory;
using elider::c::entry;
using elider::c::refuse_null;
using elider::c::span_of;
using elider::c_heap::Blob;
using elider::c_heap::HashedMap;
using elider::c_heap::OrderedMap;

struct elider_heap {
  elider::Heap heap;
};
struct elider_heap_options {
  elider::HeapOptions options;
};
struct elider_heap_map {
  elider_heap_transaction* transaction;
  HeapPtr<HashedMap> hashed;  // one of the two
  HeapPtr<OrderedMap> ordered;
};
struct elider_heap_queue {
  elider_heap_transaction* transaction;
  HeapPtr<elider::c_heap::Queue> queue;
};
struct elider_heap_transaction {
  const elider::HeapReader& reader;
  elider::HeapTransaction* writer;  // null: the transaction only reads
  Status last;
  Status doomed;  // an operation ended with an exception
  std::vector<std::unique_ptr<elider_heap_map>> maps;
  std::vector<std::unique_ptr<elider_heap_queue>> queues;
  std::vector<std::unique_ptr<std::string>> copies;

  std::string& copy() { return *copies.emplace_back(std::make_unique<std::string>()); }
  Status answer(elider_code code) const {
    if (!doomed.ok()) return doomed;
    elider_transaction as(nullptr, nullptr);
    as.last = last;
    return as.status_of(code);
  }
};

namespace {

// Calls work(transaction), and keeps its failure.
template <class Work>
elider_code heap_operation(elider_heap_transaction* transaction, elider_error* error, Work&& work) {
  if (transaction == nullptr) return entry(error, [] { return refuse_null("the transaction, the map or the queue"); });
  return entry(error, [&]() -> Status {
    if (!transaction->doomed.ok()) return transaction->doomed;
    try {
      Status status = work(*transaction);
      if (!status.ok()) transaction->last = status;
      return status;
    } catch (...) {
      return transaction->last = transaction->doomed = elider::c::caught();
    }
  });
}
template <class Object, class Work>
elider_code object_operation(Object* object, elider_error* error, Work&& work) {
  return heap_operation(object == nullptr ? nullptr : object->transaction, error, work);
}
Status check_writer(const elider_heap_transaction& transaction) {
  return transaction.writer != nullptr ? Status() : Status::invalid_argument("elider_heap_read() runs bodies that only read");
}

template <class Root>
elider::Result<HeapPtr<Root>> find_root(const elider_heap_transaction& transaction, const char* name) {
  return transaction.writer != nullptr ? transaction.writer->root<Root>(name) : transaction.reader.root<Root>(name);
}

elider_code run(elider_heap* heap, elider_heap_procedure procedure, void* context, bool read_only, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (heap == nullptr || procedure == nullptr) return refuse_null("the heap or the procedure");
    struct Inside {
      const void* const outer = elider::c_heap::innermost;
      ~Inside() { elider::c_heap::innermost = outer; }
    } const inside;
    elider::c_heap::innermost = heap;
    const auto body = [&](const elider::HeapReader& reader, elider::HeapTransaction* writer) -> Status {
      elider_heap_transaction transaction{reader, writer, {}, {}, {}, {}, {}};
      return transaction.answer(procedure(&transaction, context));
    };
    if (read_only) return heap->heap.read([&](elider::HeapReader& reader) { return body(reader, nullptr); });
    return heap->heap.transaction([&](elider::HeapTransaction& txn) { return body(txn, &txn); });
  });
}

Status give(std::span<const std::byte> bytes, const void** data, size_t* size) {
  *data = bytes.data();
  *size = bytes.size();
  return {};
}

}  // namespace

extern "C" {

elider_heap_options* elider_heap_options_new(void) { return new (std::nothrow) elider_heap_options; }
void elider_heap_options_free(elider_heap_options* options) { delete options; }
elider_code elider_heap_options_set(elider_heap_options* options, const char* name, const char* text, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (options == nullptr || name == nullptr || text == nullptr) return refuse_null("the options, the name or the text");
    return elider::set_option(options->options, name, text);
  });
}

elider_code elider_heap_open(const char* path, uint64_t bytes, const elider_heap_options* options, elider_heap** heap,
                             elider_error* error) {
  return entry(error, [&]() -> Status {
    if (path == nullptr || heap == nullptr) return refuse_null("the path or the place for the heap");
    *heap = nullptr;
    const elider::HeapOptions its = options == nullptr ? elider::HeapOptions() : options->options;
    auto opened = bytes == 0 ? elider::Heap::open(path, its) : elider::Heap::open(path, bytes, its);
    if (!opened.ok()) return opened.status();
    *heap = new elider_heap{*std::move(opened)};
    return {};
  });
}
elider_code elider_heap_close(elider_heap* heap, elider_error* error) {
  if (heap == nullptr) return ELIDER_OK;
  if (elider::c_heap::innermost != nullptr)
    return entry(error, [] { return Status::invalid_argument("elider_heap_close() was called inside a transaction of a heap"); });
  const elider_code code = entry(error, [&] { return heap->heap.persist(); });
  delete heap;
  return code;
}
elider_code elider_heap_persist(elider_heap* heap, elider_error* error) {
  return entry(error, [&] { return heap == nullptr ? refuse_null("the heap") : heap->heap.persist(); });
}
elider_code elider_heap_check(const char* path, elider_error* error) {
  return entry(error, [&] { return path == nullptr ? refuse_null("the path") : elider::Heap::check(path).status(); });
}

elider_code elider_heap_run(elider_heap* heap, elider_heap_procedure procedure, void* context, elider_error* error) {
  return run(heap, procedure, context, false, error);
}
elider_code elider_heap_read(elider_heap* heap, elider_heap_procedure procedure, void* context, elider_error* error) {
  return run(heap, procedure, context, true, error);
}

elider_code elider_heap_find_map(elider_heap_transaction* transaction, const char* name, elider_heap_map_kind kind, elider_heap_map** map,
                                 elider_error* error) {
  return heap_operation(transaction, error, [&](elider_heap_transaction& its) -> Status {
    if (name == nullptr || map == nullptr) return refuse_null("the name or the place for the map");
    *map = nullptr;
    if (kind != ELIDER_HEAP_HASHED && kind != ELIDER_HEAP_ORDERED) return Status::invalid_argument("the kind of the map does not exist");
    auto found = std::make_unique<elider_heap_map>(elider_heap_map{&its, {}, {}});
    if (kind == ELIDER_HEAP_HASHED) {
      ELIDER_ASSIGN(found->hashed, find_root<HashedMap>(its, name));
    } else {
      ELIDER_ASSIGN(found->ordered, find_root<OrderedMap>(its, name));
    }
    *map = its.maps.emplace_back(std::move(found)).get();
    return {};
  });
}
elider_code elider_heap_get(elider_heap_map* map, const void* key, size_t key_size, const void** data, size_t* size, elider_error* error) {
  return object_operation(map, error, [&](elider_heap_transaction& its) -> Status {
    if (data == nullptr || size == nullptr) return refuse_null("the place for the value");
    ELIDER_TRY(check_memory(key, key_size, "the key"));
    HeapPtr<Blob> blob;
    if (map->hashed) {
      blob = elider::c_heap::find(its.reader, its.reader[map->hashed], span_of(key, key_size)).blob;
      if (!blob) return elider::c_heap::missing();
    } else {
      ELIDER_ASSIGN(const auto ordered, elider::c_heap::ordered_key(span_of(key, key_size)));
      ELIDER_ASSIGN(blob, its.reader[map->ordered].by_key.get(its.reader, ordered));
    }
    return give(elider::c_heap::value_of(its.reader, blob, its.copy()), data, size);
  });
}
elider_code elider_heap_put(elider_heap_map* map, const void* key, size_t key_size, const void* data, size_t size, elider_error* error) {
  return object_operation(map, error, [&](elider_heap_transaction& its) -> Status {
    ELIDER_TRY(check_memory(key, key_size, "the key"));
    ELIDER_TRY(check_memory(data, size, "the value"));
    ELIDER_TRY(check_writer(its));
    const auto name = span_of(key, key_size), value = span_of(data, size);
    if (map->hashed) return elider::c_heap::put(*its.writer, (*its.writer)[map->hashed], name, value);
    return elider::c_heap::put(*its.writer, (*its.writer)[map->ordered], name, value);
  });
}
elider_code elider_heap_remove(elider_heap_map* map, const void* key, size_t key_size, elider_error* error) {
  return object_operation(map, error, [&](elider_heap_transaction& its) -> Status {
    ELIDER_TRY(check_memory(key, key_size, "the key"));
    ELIDER_TRY(check_writer(its));
    if (map->hashed) return elider::c_heap::remove(*its.writer, (*its.writer)[map->hashed], span_of(key, key_size));
    return elider::c_heap::remove(*its.writer, (*its.writer)[map->ordered], span_of(key, key_size));
  });
}
elider_code elider_heap_count(elider_heap_map* map, uint64_t* count, elider_error* error) {
  return object_operation(map, error, [&](elider_heap_transaction& its) -> Status {
    if (count == nullptr) return refuse_null("the place for the number of entries");
    if (map->hashed) {
      const HashedMap& hashed = its.reader[map->hashed];
      *count = hashed.by_hash.size(its.reader) + its.reader.read(hashed.more);
    } else {
      *count = its.reader[map->ordered].by_key.size(its.reader);
    }
    return {};
  });
}
elider_code elider_heap_visit(elider_heap_map* map, const void* from, size_t from_size, elider_heap_visitor visit, void* context,
                              elider_error* error) {
  return object_operation(map, error, [&](elider_heap_transaction& its) -> Status {
    if (visit == nullptr) return refuse_null("the visitor");
    elider_code code = ELIDER_OK;
    std::string key, value;
    const elider::HeapReader& reader = its.reader;
    if (map->hashed) {
      if (from != nullptr) return Status::invalid_argument("only a visit of an ordered map can begin at a key");
      reader[map->hashed].by_hash.for_each(reader, [&](uint64_t, HeapPtr<Blob> blob) {
        for (; blob && code == ELIDER_OK; blob = reader.read(reader[blob].next)) {
          elider::c_heap::key_of(reader, blob, key);
          elider::c_heap::value_of(reader, blob, value);
          code = visit(key.data(), key.size(), value.data(), value.size(), context);
        }
        return code == ELIDER_OK;
      });
    } else {
      const auto each = [&](const elider::c_heap::OrderedKey& its_key, HeapPtr<Blob> blob) {
        elider::c_heap::value_of(reader, blob, value);
        return (code = visit(its_key.bytes, its_key.size, value.data(), value.size(), context)) == ELIDER_OK;
      };
      const auto& ordered = reader[map->ordered].by_key;
      if (from == nullptr) {
        ordered.for_each(reader, each);
      } else {
        ELIDER_ASSIGN(const auto first, elider::c_heap::ordered_key(span_of(from, from_size)));
        ordered.for_each(reader, first, each);
      }
    }
    return code == ELIDER_STOP ? Status() : its.answer(code);
  });
}

elider_code elider_heap_find_queue(elider_heap_transaction* transaction, const char* name, elider_heap_queue** queue, elider_error* error) {
  return heap_operation(transaction, error, [&](elider_heap_transaction& its) -> Status {
    if (name == nullptr || queue == nullptr) return refuse_null("the name or the place for the queue");
    *queue = nullptr;
    ELIDER_ASSIGN(const auto found, find_root<elider::c_heap::Queue>(its, name));
    *queue = its.queues.emplace_back(std::make_unique<elider_heap_queue>(elider_heap_queue{&its, found})).get();
    return {};
  });
}
elider_code elider_heap_push(elider_heap_queue* queue, const void* data, size_t size, elider_error* error) {
  return object_operation(queue, error, [&](elider_heap_transaction& its) -> Status {
    ELIDER_TRY(check_memory(data, size, "the element"));
    ELIDER_TRY(check_writer(its));
    ELIDER_ASSIGN(const auto blob, elider::c_heap::make_blob(*its.writer, {}, span_of(data, size)));
    return (*its.writer)[queue->queue].elements.push(*its.writer, blob);
  });
}
elider_code elider_heap_pop(elider_heap_queue* queue, const void** data, size_t* size, elider_error* error) {
  return object_operation(queue, error, [&](elider_heap_transaction& its) -> Status {
    if (data == nullptr || size == nullptr) return refuse_null("the place for the element");
    ELIDER_TRY(check_writer(its));
    ELIDER_ASSIGN(const auto blob, (*its.writer)[queue->queue].elements.pop(*its.writer));
    ELIDER_TRY(give(elider::c_heap::value_of(its.reader, blob, its.copy()), data, size));
    return its.writer->free(blob);
  });
}
elider_code elider_heap_front(elider_heap_queue* queue, const void** data, size_t* size, elider_error* error) {
  return object_operation(queue, error, [&](elider_heap_transaction& its) -> Status {
    if (data == nullptr || size == nullptr) return refuse_null("the place for the element");
    ELIDER_ASSIGN(const auto blob, its.reader[queue->queue].elements.front(its.reader));
    return give(elider::c_heap::value_of(its.reader, blob, its.copy()), data, size);
  });
}
elider_code elider_heap_queue_count(elider_heap_queue* queue, uint64_t* count, elider_error* error) {
  return object_operation(queue, error, [&](elider_heap_transaction& its) -> Status {
    if (count == nullptr) return refuse_null("the place for the number of elements");
    *count = its.reader[queue->queue].elements.size(its.reader);
    return {};
  });
}

}  // extern "C"
