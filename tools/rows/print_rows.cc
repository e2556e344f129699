#include "tools/rows/print_rows.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "elider/table_scan.h"
#include "tools/data/progress_line.h"
#include "tools/rows/arguments.h"
#include "tools/rows/scan.h"
#include "tools/rows/status_words.h"

namespace elider::tools {

namespace {

// What is asked for, after all names and values have been checked.
struct Job {
  Database& db;
  const TableFields& table;
  const RowsAsked& asked;
  std::vector<const Field*> fields;
  RowFilter filter;
  RowRange range;
};

// Prints rows to a text. Each thread has one.
class Printer {
 public:
  explicit Printer(const Job& job) : job_(job), row_(job.table), printer_(make_printer(job.asked.format, job.table, job.fields)) {}

  RowPrinter& printer() { return *printer_; }
  // Sets *printed to whether the row passes the filter.
  Status print(const RowKey& key, const RawView& view, std::string& out, bool* printed) {
    const OwnedKey* const only = job_.filter.key();
    *printed = only == nullptr || (key.number == only->number && key.bytes == only->bytes.bytes());
    if (!*printed) return {};
    Status status = row_.show(key, view);
    if (status.ok()) {
      const Result<bool> passes = job_.filter.passes(row_);
      status = passes.status();
      *printed = passes.ok() && *passes;
    }
    if (status.ok() && *printed) status = printer_->print(row_, out);
    if (status.ok()) [[likely]] return status;
    return Status(status.code(), fmt::format("{} (the row with the key {})", words_of(status), shown(key_text(job_.table.schema(), key))));
  }

 private:
  const Job& job_;
  RowFields row_;
  std::unique_ptr<RowPrinter> printer_;
};

Status print_in_turn(const Job& job, OutputFile& out, uint64_t* rows) {
  Printer printer(job);
  printer.printer().begin(out.text());
  Status failed;
  const auto visit = [&](const RowKey& key, const RawView& view) {
    if (*rows == job.asked.limit) return false;
    bool printed = false;
    failed = printer.print(key, view, out.text(), &printed);
    *rows += printed ? 1 : 0;
    return failed.ok() && out.write_some();
  };
  const Status scanned = scan_table(job.db, job.table.table(), job.range, job.asked.reverse, visit);
  if (!failed.ok()) return failed;
  if (scanned.ok()) printer.printer().end(*rows, out.text());
  return scanned;
}

// Several threads, each with a page.
class PagePrinter {
 public:
  PagePrinter(const Job& job, const HeldSnapshot& snapshot, OutputFile& out)
      : job_(job), snapshot_(snapshot), scan_(scan_of(job)), out_(out) {}

  Status run(unsigned threads, uint64_t* rows) {
    Printer(job_).printer().begin(out_.text());
    std::vector<std::thread> others;
    try {
      for (unsigned i = 1; i < threads; ++i) others.emplace_back([&] { work(false); });
    } catch (const std::system_error&) {  // fewer threads do the same
    }
    work(job_.asked.shows_progress);
    for (std::thread& other : others) other.join();
    *rows = rows_;
    return status_;
  }

 private:
  static constexpr size_t kPageRows = 2048;

  static RawTableScan scan_of(const Job& job) {
    const ScanOptions options{.reverse = job.asked.reverse};
    if (job.table.table().byte_keys()) return RawTableScan(job.table.table(), std::get<ByteRange>(job.range), options);
    return RawTableScan(job.table.table(), std::get<KeyRange>(job.range), options);
  }

  void work(bool shows_progress) {
    Printer printer(job_);
    ProgressLine line;
    std::vector<RawView> views(kPageRows);
    std::string text;
    RawTableScan scan(job_.table.table());  // owns the page
    for (;;) {
      uint64_t page = 0;
      const Result<size_t> size = read_page(scan, views, &page);
      text.clear();
      uint64_t rows = 0;
      Status status = size.status();
      for (size_t i = 0; status.ok() && i < *size; ++i) {
        bool printed = false;
        const RowKey key = job_.table.table().byte_keys() ? RowKey{0, views[i].key_bytes()} : RowKey{views[i].key(), {}};
        status = printer.print(key, views[i], text, &printed);
        rows += printed ? 1 : 0;
      }
      if (!write_page(page, text, rows, status, size.ok() && *size != 0)) return;
      if (shows_progress) line.count("rows", page * kPageRows);
    }
  }

  // Reads the next page to `scan`, and sets *page to its number.
  Result<size_t> read_page(RawTableScan& scan, std::span<RawView> views, uint64_t* page) {
    const std::lock_guard lock(reading_);
    *page = pages_read_++;
    scan = scan_;
    size_t size = 0;
    Status status = job_.db.run_read_only(
        [&](Transaction& txn) -> Status {
          const Result<size_t> read = scan.next(txn, views);
          if (read.ok()) size = *read;
          return read.status();
        },
        {.snapshot = &snapshot_});
    scan_ = scan;
    if (!status.ok()) return status;
    return size;
  }

  // Writes the page when all pages before have been written. Returns false if no more pages are
  // wanted.
  bool write_page(uint64_t page, std::string& text, uint64_t rows, const Status& status, bool more) {
    std::unique_lock lock(writing_);
    turn_.wait(lock, [&] { return pages_written_ == page; });
    if (!ended_) {
      out_.text() += text;
      rows_ += rows;
      status_ = status;
      ended_ = !status.ok() || !more || !out_.write_some();
    }
    ++pages_written_;
    turn_.notify_all();
    return !ended_;
  }

  const Job& job_;
  const HeldSnapshot& snapshot_;
  std::mutex reading_;
  RawTableScan scan_;  // guarded by reading_, as pages_read_
  uint64_t pages_read_ = 0;
  std::mutex writing_;  // guards out_ and the members below
  OutputFile& out_;
  std::condition_variable turn_;
  uint64_t pages_written_ = 0, rows_ = 0;
  bool ended_ = false;
  Status status_;
};

}  // namespace

Status print_rows(Database& db, const TableFields& table, const RowsAsked& asked, OutputFile& out, uint64_t* rows) {
  const Result<std::vector<const Field*>> fields = table.select(asked.columns);
  if (!fields.ok()) return fields.status();
  Result<RowFilter> filter = RowFilter::of(table, asked.where);
  if (!filter.ok()) return filter.status();
  const Result<RowRange> range = parse_range(table.schema(), asked.bounds);
  if (!range.ok()) return range.status();
  const Job job{db, table, asked, *fields, *std::move(filter), *range};
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
  const bool in_pages = is_ordered(table.schema().key_index) && asked.format != RowFormat::kTable && asked.limit == ~uint64_t{0};
  if (!in_pages || threads == 1) return print_in_turn(job, out, rows);
  const Result<HeldSnapshot> snapshot = db.hold_snapshot();
  if (!snapshot.ok()) return snapshot.status();
  return PagePrinter(job, *snapshot, out).run(threads, rows);
}

}  // namespace elider::tools
