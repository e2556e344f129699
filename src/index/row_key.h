// RowKey: finds the byte key of a row from the row's handle, for indexes of byte keys that do not
// store the keys themselves.
//
// The handles of such an index are addresses of memory in which a KeyBytes lies at a fixed offset.
// The memory belongs to the user of the index, and the following must hold:
// - The key is complete before the handle is inserted, and never changes afterwards.
// - After the handle has been removed from the index, the memory is retired (base/worker.h), not
//   freed, because readers within a grace period may have found the handle.
// A reader may therefore read the key of each handle that it has found, even if the entry has been
// removed since. It must first validate that the index contained the handle.
//
// Thread safety: a value and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "index/byte_key.h"
#include "index/index.h"

namespace elider::index {

struct RowKey {
  uint32_t offset = 0;  // of the KeyBytes, in bytes from the handle

  ByteKey of(Handle handle) const { return {reinterpret_cast<const KeyBytes*>(handle + offset)}; }
  // Returns true if the key of this handle, which is not kNoHandle, equals `key`.
  bool equals(Handle handle, const ByteKey& key) const {
    const KeyBytes* const own = of(handle).bytes;
    return own->size == key.size() && (own->size == 0 || std::memcmp(own->data(), key.bytes->data(), own->size) == 0);
  }
  void prefetch(Handle handle) const { __builtin_prefetch(reinterpret_cast<const void*>(handle + offset), 0, 3); }
};

}  // namespace elider::index
