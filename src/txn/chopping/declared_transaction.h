// DeclaredTransaction: wraps another transaction and compares each access with the declaration of a
// chopped procedure's operation. It refuses an access that is not declared, without executing it.
//
// An operation may also read the columns that it declares as written, because whatever conflicts
// with such a read also conflicts with the write. The class does not check tokens. It assumes that
// each accessed row belongs to the token that the access names (chopping::Access::token).
// Thread safety: none. The object belongs to one execution of an operation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "elider/chopping.h"
#include "elider/transaction.h"

namespace elider::txn {

// The columns that one kind of access may touch, with one bit for each column's position in the
// schema. `declared` says whether the access is declared at all. `columns` does not show this,
// because a table may be declared without columns, and an access may request zero columns.
struct DeclaredColumns {
  uint64_t columns = 0;
  bool declared = false;
  void add(uint64_t more) {
    columns |= more;
    declared = true;
  }
  friend DeclaredColumns operator|(const DeclaredColumns& a, const DeclaredColumns& b) {
    return {a.columns | b.columns, a.declared || b.declared};
  }
};
// What an operation may do with a table.
struct DeclaredTable {
  DeclaredColumns reads, writes, adds, scans;
  bool inserts = false, removes = false;
};
struct DeclaredOperation {
  std::string procedure, name;
  std::function<Status(Transaction&, void*)> body;
  std::vector<DeclaredTable> tables;  // by id; tables beyond the end are not declared
};

class DeclaredTransaction final : public Transaction {
 public:
  DeclaredTransaction(Transaction& inner, const DeclaredOperation& operation) : inner_(inner), operation_(operation) {
    attempt_ = inner.attempt();
    read_only_ = inner.read_only();
  }
  // Returns the error of the first refused access, or ok. The error is kept because a body may
  // ignore it and continue.
  const Status& refusal() const { return refusal_; }

 protected:
  Status do_get(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, RawView* view) override;
  Status do_multi_get(const TableRef& table, const detail::KeyRef* keys, size_t count, const ColumnsRef& columns, RawView* views) override;
  Status do_scan(const TableRef& table, const detail::KeyRefRange& range, const ScanOptions& options, EachRow visit) override;
  Status do_scan_index(const IndexRef& index, const detail::EntryRange& range, const ScanOptions& options, EachEntry visit) override;
  Status do_scan_rows(const TableRef& table, const RowScanOptions& options, EachScannedRow visit) override;
  Status do_insert(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) override;
  Status do_put(const TableRef& table, detail::KeyRef key, const void* row, size_t bytes) override;
  Status do_edit(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, void** image) override;
  Status do_edit_view(const TableRef& table, const RawView& view, const ColumnsRef& columns, void** image) override;
  Status do_edited(const TableRef& table, void* image) override;
  void do_edit_threw(const TableRef& table, detail::KeyRef key) override;
  Status do_write(const TableRef& table, detail::KeyRef key, const ColumnsRef& columns, const void* row) override;
  Status do_add(const TableRef& table, detail::KeyRef key, uint32_t offset, ColumnType type, const void* delta) override;
  Status do_remove(const TableRef& table, detail::KeyRef key) override;
  void do_look_ahead(const TableRef& table, const detail::KeyRef* keys, size_t count) override;
  Status do_version(const TableRef& table, detail::KeyRef key, uint64_t* version) override;
  uint64_t do_serial() const override { return inner_.do_serial(); }
  uint64_t do_first_serial() const override { return inner_.do_first_serial(); }

 private:
  const DeclaredTable& of(const TableRef& table) const;
  // Returns ok if the access is declared and its columns include all of `wanted`.
  Status check(const TableRef& table, uint64_t wanted, const DeclaredColumns& may, const char* does);
  Status check(const TableRef& table, bool declared, const char* does);
  Status refuse(std::string what);

  Transaction& inner_;
  const DeclaredOperation& operation_;
  Status refusal_;
};

}  // namespace elider::txn
