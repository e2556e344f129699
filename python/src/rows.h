// RowCodec: rows as Python objects, and as the engine stores them. A row is
//   a dict         of the columns
//   an object      of a class that the program declared: a dataclass or a NamedTuple
//   a bytes object in tables without columns
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "elider/described.h"
#include "elider/value_table.h"
#include "python/src/core.h"

namespace elider::python {

struct ColumnPlan {
  size_t position = 0;
  RowType type = RowType::kInt64;
  bool nullable = false;
  nb::object name;  // an interned str
  std::string text;
};
// The columns of a table as a description has them.
struct RowPlan {
  const RowSchema* schema = nullptr;
  std::vector<ColumnPlan> columns;
  bool partial = false;  // the program's class lacks some columns
  std::string missing;   // the first of these
};

// Converts one value to a column of the builder, or raises InvalidArgument.
void set_column(RowBuilder& row, const std::string& table, const ColumnPlan& column, nb::handle value, nb::handle key);
nb::object get_column(const RowReader& row, const std::string& table, const ColumnPlan& column);

class RowCodec {
 public:
  // `type` is dict, bytes or the program's class, of which `fields` are the names of the columns.
  RowCodec(const TableRef& table, std::string name, nb::object type, std::vector<std::string> fields);

  bool values() const { return values_; }  // rows are bytes
  nb::handle type() const { return type_; }
  // The plan for the current columns of the table.
  std::shared_ptr<const RowPlan> plan();
  const RowSchema& schema() const { return rows_.row_schema(); }

  nb::object decode(const RawView& view);
  nb::object decode(std::span<const std::byte> bytes);
  // A row that is being encoded. The bytes are valid as long as this object.
  class Encoded {
   public:
    explicit Encoded(RowCodec& codec) : codec_(codec) {}
    ~Encoded();
    Encoded(const Encoded&) = delete;
    Encoded& operator=(const Encoded&) = delete;
    std::span<const std::byte> bytes;

   private:
    friend class RowCodec;
    RowCodec& codec_;
    std::unique_ptr<RowBuilder> builder_;
    nb::object owner_;
  };
  // `replaces`: the row may replace another one, so no column may be lost.
  void encode(nb::handle row, nb::handle key, bool replaces, Encoded* to);
  // Changes the columns that the dict has.
  void change(const RawView& old, nb::dict columns, nb::handle key, Encoded* to);
  // A builder that no other call uses.
  std::unique_ptr<RowBuilder> take_builder();
  void give_back(std::unique_ptr<RowBuilder> builder);

 private:
  nb::object decode(const RowPlan& plan, const RowReader& row);
  const ColumnPlan& column(const RowPlan& plan, const std::string& name, nb::handle key);
  TableRef table_;
  std::string name_;
  CurrentRowSchema rows_;
  nb::object type_;
  std::vector<std::string> fields_;
  bool values_ = false, dict_ = false, fast_ = false;
  std::shared_ptr<const RowPlan> plan_;  // Python code that a call runs may replace it
  std::vector<std::unique_ptr<RowBuilder>> builders_;
};

}  // namespace elider::python
