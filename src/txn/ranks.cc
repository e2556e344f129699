#include "txn/ranks.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/checksum.h"
#include "base/test_points.h"
#include "elider/row.h"

namespace elider::txn {

namespace {
constexpr uint64_t kSeed = 0x72616e6b65640001;
constexpr size_t kBoundBytesMax = kRankedEntryBytesMax + 1;
static_assert(1 + kBoundBytesMax <= kKeyBytesMax && kRankLevelsMax < 255);
// Columns of RankRow.
constexpr uint64_t kRowsColumn = uint64_t{1} << 1;
}  // namespace

uint32_t rank_level(Bytes entry) {
  const uint64_t hash = checksum(entry.span(), kSeed);
  return std::min(static_cast<uint32_t>(std::countr_zero(hash)) / kRankBits, kRankLevelsMax);
}

std::string rank_table_name(uint32_t table, const std::string& index) {
  return "elider_rank_" + std::to_string(table) + "_" + index;
}

Schema rank_schema(uint32_t table, const std::string& index) {
  return SchemaOf<RankRow, Bytes>(rank_table_name(table, index))
      .ordered()
      .column("level", &RankRow::level)
      .column("rows", &RankRow::rows)
      .group({"rows"})
      .schema();
}

// `after`: the smallest key after the boundary. A bound that is longer than an entry already ends
// with a zero byte, and no boundary is equal to it.
void RankKey::set(uint32_t level, Bytes boundary, bool after) {
  const size_t size = std::min(boundary.size(), kBoundBytesMax);
  const std::span<std::byte> room = key_.room();
  room[0] = static_cast<std::byte>(255 - level);
  if (boundary.data() != nullptr) std::memcpy(&room[1], boundary.data(), size);
  const bool zero = after && size < kBoundBytesMax;
  if (zero) room[1 + size] = std::byte{0};
  key_.set_size(1 + size + (zero ? 1 : 0));
}

Ranks::Ranks(Transaction& txn, AnyTable& table, uint32_t index)
    : txn_(txn), table_(&table), ranks_(table.ranks(index)), index_(index), position_(table.index_slot(index).position),
      none_of_table_(table.layout().none()), none_(ranks_.base()->layout().none()),
      rows_(ranks_.base()->layout().of_columns(kRowsColumn)) {}

// An entry e has at most kRankedEntryBytesMax bytes, so e < at if and only if e is less than the
// bound of that many bytes of `at` and a zero byte.
Ranks::Bound Ranks::bound_of(detail::KeyRef at, bool end) {
  Bound bound;
  const Bytes bytes = end ? Bytes() : detail::bytes_of(at);
  if (bytes.size() > kRankedEntryBytesMax) bound.at.set(Bytes(bytes.data(), kRankedEntryBytesMax), 1);
  else bound.set(bytes);
  bound.end = end;
  return bound;
}

// -- reading one level ----------------------------------------------------------------------------

// Visits the boundaries until visit() returns false.
Status Ranks::scan(const LevelScan& how, Visit visit) {
  const ScanOptions options{.limit = how.limit, .reverse = how.reverse, .columns = ColumnsRef(how.counts ? &rows_ : &none_)};
  return txn_.do_scan(ranks_, {how.from.ref(), how.to.ref(), false}, options, [&](detail::KeyRef key, RawView row) {
    const int64_t rows = how.counts ? detail::load_row<int64_t>(row.bytes() + offsetof(RankRow, rows)) : 0;
    return visit(RankKey::boundary_of(detail::bytes_of(key)), rows);
  });
}

Status Ranks::scan_entries(const Bound& from, const Bound& to, bool reverse, uint64_t limit, FunctionRef<bool(Bytes)> visit) {
  const ScanOptions options{.limit = limit, .reverse = reverse, .columns = ColumnsRef(&none_of_table_)};
  const detail::EntryRange range(detail::KeyRefRange(from.at.ref(), to.at.ref(), to.end));
  return txn_.do_scan_index({table_, position_}, range, options, [&](detail::KeyRef, uint64_t entry, RawView) {
    return visit(detail::bytes_of(detail::KeyRef(reinterpret_cast<const detail::KeyBytes*>(entry))));
  });
}

// Returns the error of a scan if the transaction cannot use the index. The counts alone do not show
// this.
Status Ranks::check_index() {
  const Bound first;
  return scan_entries(first, first, false, 0, [](Bytes) { return false; });
}

// Sets *levels to the number of levels.
Status Ranks::find_levels(uint32_t* levels) {
  *levels = 0;
  const RankKey from(kRankLevelsMax, Bytes()), to = RankKey::end_of(1);
  const ScanOptions options{.limit = 1, .columns = ColumnsRef(&none_)};
  return txn_.do_scan(ranks_, {from.ref(), to.ref(), false}, options, [&](detail::KeyRef key, RawView) {
    *levels = RankKey::level_of(detail::bytes_of(key));
    return true;
  });
}

// Sets *boundary to the last boundary before the entry. kNotFound: the level does not exist.
Status Ranks::find_interval(uint32_t level, Bytes entry, detail::KeyBuffer* boundary) {
  bool found = false;
  const RankKey from(level, Bytes()), to(level, entry);
  Status status = scan({.level = level, .from = from, .to = to, .reverse = true, .counts = false, .limit = 1}, [&](Bytes at, int64_t) {
    boundary->set(at);
    found = true;
    return true;
  });
  if (!status.ok() || found) return status;
  const auto& table = static_cast<const AnyTable&>(*table_.base());
  return Status(Code::kNotFound, "a level of the counts of ranked index '" + table.index_definition(index_).name + "' is missing");
}

// Finds the first boundary that is not before `at` or, if `reverse` is true, the last one that is
// not after `at`.
Status Ranks::find_boundary(uint32_t level, const Bound& at, bool reverse, Bound* boundary, bool* found) {
  *found = false;
  if (at.end && !reverse) return {};
  const RankKey first(level, Bytes()), end = RankKey::end_of(level), here(level, at.bytes()), after(level, at.bytes(), true);
  const RankKey& from = reverse ? first : here;
  const RankKey& to = reverse && !at.end ? after : end;
  return scan({.level = level, .from = from, .to = to, .reverse = reverse, .counts = false, .limit = 1}, [&](Bytes bytes, int64_t) {
    boundary->set(bytes);
    *found = true;
    return true;
  });
}

// -- counting -------------------------------------------------------------------------------------

Status Ranks::count(const detail::KeyRefRange& entries, uint64_t* rows) {
  *rows = 0;
  if (Status status = check_index(); !status.ok()) return status;
  uint32_t levels;
  if (Status status = find_levels(&levels); !status.ok()) return status;
  return count_from_level(levels, bound_of(entries.from, false), bound_of(entries.to, entries.to_end), entries.to_end, rows);
}

// Adds to *rows the number of rows in a range. Uses the levels up to `level`. ends_at_boundary:
// `to` is the end of the index or a boundary of this level, so the last interval of the range lies
// in the range. Otherwise, the range ends within an interval, whose count is not read.
Status Ranks::count_from_level(uint32_t level, const Bound& from, const Bound& to, bool ends_at_boundary, uint64_t* rows) {
  if (!to.end && to.bytes() <= from.bytes()) return {};
  if (level == 0) return scan_entries(from, to, false, kNoLimit, [&](Bytes) { return ++*rows, true; });
  Bound last;
  const RankKey begin(level, from.bytes()), end = to.end ? RankKey::end_of(level) : RankKey(level, to.bytes());
  if (!ends_at_boundary) {
    bool found = false;
    Status status = scan({.level = level, .from = begin, .to = end, .reverse = true, .counts = false, .limit = 1}, [&](Bytes at, int64_t) {
      last.set(at);
      found = true;
      return true;
    });
    if (!status.ok()) return status;
    if (!found) return count_from_level(level - 1, from, to, false, rows);
  }
  Bound first;
  bool any = false;
  int64_t sum = 0;
  const RankKey end_of_whole(level, last.bytes());
  Status status = scan({.level = level, .from = begin, .to = ends_at_boundary ? end : end_of_whole}, [&](Bytes at, int64_t in_interval) {
    if (!any) first.set(at);
    any = true;
    sum += in_interval;
    return true;
  });
  if (!status.ok()) return status;
  *rows += static_cast<uint64_t>(sum);
  if (!ends_at_boundary)
    if (status = count_from_level(level - 1, last, to, false, rows); !status.ok()) return status;
  const Bound& end_of_rest = any ? first : ends_at_boundary ? to : last;
  return count_from_level(level - 1, from, end_of_rest, true, rows);
}

// -- skipping -------------------------------------------------------------------------------------

// Climbs from the beginning of the range, or from its end if `reverse` is true, as long as it
// skips whole intervals, and then descends. So it does not depend on rows outside of the part
// that is skipped, except for the rest of the last interval.
Status Ranks::skip(const detail::KeyRefRange& entries, uint64_t rows, bool reverse, detail::KeyBuffer* position, bool* found) {
  *found = false;
  if (Status status = check_index(); !status.ok()) return status;
  uint32_t levels;
  if (Status status = find_levels(&levels); !status.ok()) return status;
  Walk walk{bound_of(entries.from, false), bound_of(entries.to, entries.to_end), reverse, {}, rows, position};
  walk.at = reverse ? walk.to : walk.from;
  uint32_t level = 0;
  for (;; ++level) {
    Bound until;
    bool bounded = false;
    if (level < levels)
      if (Status status = find_boundary(level + 1, walk.at, reverse, &until, &bounded); !status.ok()) return status;
    if (Status status = walk_level(level, walk, bounded ? &until : nullptr, found); !status.ok()) return status;
    if (*found) break;
    if (!bounded) return {};
    if (reverse ? until.bytes() <= walk.from.bytes() : !walk.to.end && until.bytes() >= walk.to.bytes()) return {};
    walk.at = until;
  }
  for (; level > 0 && *found; --level) {
    *found = false;
    if (Status status = walk_level(level - 1, walk, nullptr, found); !status.ok()) return status;
  }
  return {};
}

// Walks along the intervals of a level up to a boundary of the next level, or to the end of the
// range if `until` is null. Sets *found to true if the row is in the interval at which it stops, or
// is the entry at which it stops.
Status Ranks::walk_level(uint32_t level, Walk& walk, const Bound* until, bool* found) {
  if (level == 0) {
    const Bound& from = walk.reverse ? walk.from : walk.at;
    const Bound& to = walk.reverse ? walk.at : walk.to;
    const bool cut = until != nullptr && (walk.reverse ? until->bytes() > from.bytes() : to.end || until->bytes() < to.bytes());
    const uint64_t limit = walk.left == kNoLimit ? kNoLimit : walk.left + 1;
    return scan_entries(cut && walk.reverse ? *until : from, cut && !walk.reverse ? *until : to, walk.reverse, limit, [&](Bytes entry) {
      if (walk.left != 0) return --walk.left, true;
      walk.position->set(entry);
      *found = true;
      return false;
    });
  }
  const auto visit = [&](Bytes at, int64_t in_interval) {
    const auto rows = static_cast<uint64_t>(std::max<int64_t>(in_interval, 0));
    *found = walk.left < rows;
    if (*found) {
      if (!walk.reverse) walk.at.set(at);  // in reverse, the interval ends where the walk is
      return false;
    }
    walk.left -= rows;
    if (walk.reverse) walk.at.set(at);
    return !walk.reverse || at > walk.from.bytes();
  };
  const RankKey first(level, Bytes()), end = RankKey::end_of(level), here(level, walk.at.bytes());
  const RankKey bound(level, until != nullptr ? until->bytes() : Bytes()), range_end(level, walk.to.bytes());
  const RankKey& from = !walk.reverse ? here : until != nullptr ? bound : first;
  const RankKey& to_of_range = walk.to.end ? end : range_end;
  const RankKey& to = walk.reverse ? (walk.at.end ? end : here)
                      : until != nullptr && bound.bytes() < to_of_range.bytes() ? bound
                                                                                 : to_of_range;
  return scan({.level = level, .from = from, .to = to, .reverse = walk.reverse}, visit);
}

// -- writing --------------------------------------------------------------------------------------

// The levels are changed from the lowest to the highest, because a new interval is counted in the
// level below.
Status Ranks::change(const Bytes* removed, const Bytes* added) {
  uint32_t levels;
  if (Status status = find_levels(&levels); !status.ok()) return status;
  const uint32_t of_removed = removed != nullptr ? rank_level(*removed) : 0, of_added = added != nullptr ? rank_level(*added) : 0;
  for (uint32_t level = 1; level <= std::max(levels, of_added); ++level) {
    const bool exists = level <= levels;
    if (exists && removed != nullptr && added != nullptr && level > of_removed && level > of_added) {
      const bool up = *removed < *added;
      const Bytes &lesser = up ? *removed : *added, &greater = up ? *added : *removed;
      detail::KeyBuffer of_lesser, of_greater;
      if (Status status = find_interval(level, greater, &of_greater); !status.ok()) return status;
      // If the entry stays in its interval, it also stays in those of the higher levels, which
      // consist of whole intervals of this level.
      if (detail::bytes_of(of_greater.ref()) < lesser) return {};
      if (Status status = find_interval(level, lesser, &of_lesser); !status.ok()) return status;
      if (Status status = add(level, detail::bytes_of(of_lesser.ref()), up ? -1 : 1); !status.ok()) return status;
      if (Status status = add(level, detail::bytes_of(of_greater.ref()), up ? 1 : -1); !status.ok()) return status;
      continue;
    }
    if (removed != nullptr && exists)
      if (Status status = take_out(level, *removed); !status.ok()) return status;
    if (added != nullptr)
      if (Status status = put_in(level, exists, *added); !status.ok()) return status;
  }
  return {};
}

// Adds an entry to a level. The lower levels already contain it.
Status Ranks::put_in(uint32_t level, bool exists, Bytes entry) {
  if (!exists) {
    uint64_t rows = 0;
    Bound end;
    end.end = true;
    if (Status status = count_from_level(level - 1, {}, end, true, &rows); !status.ok()) return status;
    if (Status status = insert(level, Bytes(), rows - 1); !status.ok()) return status;
  }
  detail::KeyBuffer interval;
  if (Status status = find_interval(level, entry, &interval); !status.ok()) return status;
  if (level > rank_level(entry)) return add(level, detail::bytes_of(interval.ref()), 1);
  Bound from, next;
  from.set(entry);
  bool found = false;
  if (Status status = find_boundary(level, from, false, &next, &found); !status.ok()) return status;
  next.end = !found;
  uint64_t rows = 0;
  if (Status status = count_from_level(level - 1, from, next, true, &rows); !status.ok()) return status;
  if (Status status = insert(level, entry, rows); !status.ok()) return status;
  if (ELIDER_MUTANT(kKeepDividedCount)) return {};
  return add(level, detail::bytes_of(interval.ref()), 1 - static_cast<int64_t>(rows));
}

// Removes an entry from a level.
Status Ranks::take_out(uint32_t level, Bytes entry) {
  detail::KeyBuffer interval;
  if (Status status = find_interval(level, entry, &interval); !status.ok()) return status;
  int64_t rows = 0;
  if (level <= rank_level(entry)) {
    const RankKey key(level, entry);
    RawView row;
    if (Status status = txn_.do_get(ranks_, key.ref(), ColumnsRef(&rows_), &row); !status.ok()) return status;
    rows = detail::load_row<int64_t>(row.bytes() + offsetof(RankRow, rows));
    if (Status status = txn_.do_remove(ranks_, key.ref()); !status.ok()) return status;
  }
  return add(level, detail::bytes_of(interval.ref()), rows - 1);
}

Status Ranks::insert(uint32_t level, Bytes boundary, uint64_t rows) {
  return insert_row(txn_, ranks_, RankKey(level, boundary), rows);
}
Status Ranks::insert_row(Transaction& txn, const TableRef& ranks, const RankKey& key, uint64_t rows) {
  const RankRow row{RankKey::level_of(key.bytes()), static_cast<int64_t>(rows)};
  return txn.do_insert(ranks, key.ref(), &row, sizeof row);
}

Status Ranks::add(uint32_t level, Bytes boundary, int64_t rows) {
  if (rows == 0) return {};
  return txn_.do_add(ranks_, RankKey(level, boundary).ref(), offsetof(RankRow, rows), ColumnType::kInt64, &rows);
}

// -- building -------------------------------------------------------------------------------------

void RankBuilder::add(Bytes entry) {
  const uint32_t own = rank_level(entry);
  while (levels_.size() < own) levels_.push_back({{{std::string(), entries_}}});
  for (size_t below = 0; below < levels_.size(); ++below) {
    auto& intervals = levels_[below].intervals;
    if (below < own) intervals.emplace_back(entry.to_string(), 1);
    else ++intervals.back().second;
  }
  ++entries_;
}

const std::vector<RankBuilder::Interval>& RankBuilder::finish(uint32_t levels) {
  while (levels_.size() < levels) levels_.push_back({{{std::string(), entries_}}});
  for (size_t level = levels_.size(); level > 0; --level) {
    for (const auto& [boundary, rows] : levels_[level - 1].intervals)
      finished_.push_back({RankKey(static_cast<uint32_t>(level), Bytes(boundary)).bytes().to_string(), rows});
    levels_[level - 1].intervals.clear();
  }
  return finished_;
}

Status RankBuilder::insert(Transaction& txn, AnyTable& ranks, size_t max, size_t* next, bool* done) const {
  const TableRef table(&ranks);
  for (; max > 0 && *next < finished_.size(); --max, ++*next) {
    const Bytes key(finished_[*next].key);
    const RankKey its(RankKey::level_of(key), RankKey::boundary_of(key));
    if (Status status = Ranks::insert_row(txn, table, its, finished_[*next].rows); !status.ok()) return status;
  }
  *done = *next == finished_.size();
  return {};
}

}  // namespace elider::txn
