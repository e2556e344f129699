// ByteKeyed: the engine with tables whose keys are bytes, under the same public calls: a
// transaction of its protocol turns each number into bytes that sort like it, of lengths from none
// to fourteen, and back. Their index is one of this folder, or the radix tree where
// ELIDER_TEST_RADIX_BYTES says so. For tests alone.
//
// Hashed tables have byte keys as well.
//
// Thread safety: as the transaction's that it wraps.
#pragma once

#include <cstring>
#include <new>
#include <vector>

#include "engine/engine_of.h"
#include "index/art/art.h"
#include "sync/optimistic.h"
#include "tests/byte_keys/sorted_leaves.h"
#include "txn/occ/occ.h"

namespace elider::test {

// A policy of its own, for which there is an index of byte keys.
struct ByteKeyedSync : sync::Optimistic {};
static_assert(sync::Policy<ByteKeyedSync>);

}  // namespace elider::test

template <>
struct elider::index::ByteIndexOf<elider::test::ByteKeyedSync> {
#if ELIDER_TEST_RADIX_BYTES
  using type = RadixTree<elider::test::ByteKeyedSync, ByteKey>;
#else
  using type = elider::test::SortedLeaves;
#endif
  static constexpr bool kHasTree = false;
  // Data folders hold no byte keys yet.
  static KeyKind kind_of(const Schema& schema, const Options& options) {
    const bool bytes = schema.key_index == KeyIndex::kOrdered || (schema.key_index == KeyIndex::kHashed && schema.inline_rows == 0);
    return bytes && options.data_folders.empty() ? KeyKind::kBytes : schema.key_kind;
  }
};

namespace elider::test {

// A number's key: its bytes, the most significant first, without the zeros at the end; those of odd
// ones with some bytes behind them. TableBase::number_of gives the number back.
class EncodedKey {
 public:
  explicit EncodedKey(Key number) {
    auto* key = new (memory_) detail::KeyBytes;
    for (uint32_t i = 0; i < sizeof number; ++i) key->data()[i] = static_cast<std::byte>(number >> (56 - 8 * i));
    key->size = sizeof number;
    if (number % 2 == 1)
      for (uint64_t more = number % 7; more > 0; --more) key->data()[key->size++] = std::byte{0xff};
    while (key->size > 0 && key->data()[key->size - 1] == std::byte{0}) --key->size;
  }
  detail::KeyRef ref() const { return detail::KeyRef(reinterpret_cast<const detail::KeyBytes*>(memory_)); }

 private:
  alignas(8) std::byte memory_[sizeof(detail::KeyBytes) + 16];
};

template <class Base>
class ByteKeyed : public Base {
 public:
  using Base::Base;

 protected:
  using KeyRef = detail::KeyRef;
  using typename Base::EachEntry;
  using typename Base::EachRow;

  Status do_get(const TableRef& table, KeyRef key, const ColumnsRef& columns, RawView* view) override {
    const Status status = with_key(table, key, [&](KeyRef bytes) { return Base::do_get(table, bytes, columns, view); });
    if (status.ok()) name_number(table, *view);
    return status;
  }
  Status do_multi_get(const TableRef& table, const KeyRef* keys, size_t count, const ColumnsRef& columns, RawView* views) override {
    if (!has_byte_keys(table)) return Base::do_multi_get(table, keys, count, columns, views);
    std::vector<EncodedKey> encoded;
    std::vector<KeyRef> refs;
    for (size_t i = 0; i < count; ++i) encoded.emplace_back(keys[i].number());
    for (const EncodedKey& key : encoded) refs.push_back(key.ref());
    const Status status = Base::do_multi_get(table, refs.data(), count, columns, views);
    for (size_t i = 0; i < count && status.ok(); ++i)
      if (views[i]) name_number(table, views[i]);
    return status;
  }
  Status do_scan(const TableRef& table, const detail::KeyRefRange& range, const ScanOptions& options, EachRow visit) override {
    if (!has_byte_keys(table)) return Base::do_scan(table, range, options, visit);
    const EncodedKey from(range.from.number()), to(range.to.number());
    return Base::do_scan(table, {from.ref(), to.ref(), range.to_end}, options, numbered(table, visit));
  }
  Status do_scan_index(const IndexRef& index, const detail::EntryRange& range, const ScanOptions& options, EachEntry visit) override {
    if (!has_byte_keys(index.table)) return Base::do_scan_index(index, range, options, visit);
    const auto call = [&](KeyRef key, uint64_t value, const RawView& view) {
      name_number(index.table, view);
      return visit(index.table.base()->number_of(key), value, view);
    };
    if (range.by_columns) return Base::do_scan_index(index, range, options, call);
    const EncodedKey from(range.from.number()), to(range.to.number());
    return Base::do_scan_index(index, {range, from.ref(), to.ref()}, options, call);
  }
  Status do_insert(const TableRef& table, KeyRef key, const void* row, size_t size) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_insert(table, bytes, row, size); });
  }
  Status do_put(const TableRef& table, KeyRef key, const void* row, size_t size) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_put(table, bytes, row, size); });
  }
  Status do_edit(const TableRef& table, KeyRef key, const ColumnsRef& columns, void** image) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_edit(table, bytes, columns, image); });
  }
  Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) override {
    if (!view || !has_byte_keys(table)) return Base::do_edit_view(table, view, columns, image);
    detail::ImageHeader header = *view.header();
    const EncodedKey key(header.key.number());
    header.key = this->row_key(table, header, key.ref());
    return Base::do_edit_view(table, RawView(view.bytes(), &header), columns, image);
  }
  void do_edit_threw(const TableRef& table, KeyRef key) override {
    static_cast<void>(with_key(table, key, [&](KeyRef bytes) {
      Base::do_edit_threw(table, bytes);
      return Status();
    }));
  }
  Status do_write(const TableRef& table, KeyRef key, const ColumnsRef& columns, const void* row) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_write(table, bytes, columns, row); });
  }
  Status do_add(const TableRef& table, KeyRef key, uint32_t offset, ColumnType type, const void* delta) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_add(table, bytes, offset, type, delta); });
  }
  Status do_remove(const TableRef& table, KeyRef key) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_remove(table, bytes); });
  }
  Status do_scan_rows(const TableRef& table, const RowScanOptions& options,
                      FunctionRef<bool(KeyRef, RawView, unsigned)> visit) override {
    if (!has_byte_keys(table)) return Base::do_scan_rows(table, options, visit);
    return Base::do_scan_rows(table, options, [&](KeyRef key, RawView view, unsigned thread) {
      name_number(table, view);
      return visit(table.base()->number_of(key), view, thread);
    });
  }
  void do_look_ahead(const TableRef& table, const KeyRef* keys, size_t count) override {
    if (!has_byte_keys(table)) Base::do_look_ahead(table, keys, count);
  }
  Status do_version(const TableRef& table, KeyRef key, uint64_t* version) override {
    return with_key(table, key, [&](KeyRef bytes) { return Base::do_version(table, bytes, version); });
  }

 private:
  // Returns whether the table stores byte keys while its callers use number keys.
  static bool has_byte_keys(const TableRef& table) { return table && table.base()->byte_keys() && !table.byte_keys(); }
  template <class F>
  static Status with_key(const TableRef& table, KeyRef key, F&& operation) {
    if (!has_byte_keys(table)) return operation(key);
    const EncodedKey encoded(key.number());
    return operation(encoded.ref());
  }
  // The view says a number, as the public calls do.
  static void name_number(const TableRef& table, const RawView& view) {
    if (!has_byte_keys(table)) return;
    auto* header = const_cast<detail::ImageHeader*>(view.header());
    header->key = table.base()->number_of(header->key);
  }
  // What the engine put there: the key in the row block, if the header tells of one
  // that this table's index has.
  static KeyRef row_key(const TableRef& table, const detail::ImageHeader& header, KeyRef given) {
    auto& base = static_cast<txn::Table<ByteKeyedSync>&>(*table.base());
    txn::PrimaryHint hint;
    index::Witness witness;
    storage::Row* const row = base.find(given, hint, witness);
    return row != nullptr && row == header.row ? base.key_of(row, given) : given;
  }
  auto numbered(const TableRef& table, const EachRow& visit) {
    return [&table, &visit](KeyRef key, const RawView& view) {
      name_number(table, view);
      return visit(table.base()->number_of(key), view);
    };
  }
};

template <class Sync>
class ByteKeyedOcc : public txn::Occ<Sync> {
 public:
  using Transaction = ByteKeyed<txn::ReadWriteTransaction<Sync>>;
  using Snapshot = ByteKeyed<txn::SnapshotTransaction<Sync>>;
  using txn::Occ<Sync>::Occ;
  Transaction make_transaction(Worker& worker, txn::Counters& counters) { return Transaction(this->store_, worker, counters, nullptr); }
};

}  // namespace elider::test
