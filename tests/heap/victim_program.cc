// A program that is killed: its threads transfer cents between accounts of a durable heap and tell
// each transfer on standard output, a line and a system call each, so that what it has told
// outlives it. tests/heap/kill.py reads it.
//
//   heap_victim work FILE [--threads N] [--seed N] [--medium M] [--isolation I] [--durability D]
//                         [--wait W] [--background 0|1]
//   heap_victim look FILE
//
// work prints "ready", then "did T N" when transfer N of thread T is durable, and "saw T N" when a
// reader has seen it and may report it. look makes the books if they do not exist, checks them, and
// prints how many transfers of each thread are there, as JSON. Exit status 3: the books are wrong,
// or the heap failed; standard error says which.
//
// A transfer changes two accounts, counts itself, and writes an entry with a note of some length
// into its thread's journal. The journal keeps the last 40 entries; older ones are settled and
// freed. Two maps of all threads, a hash map and an ordered one, lead to each entry. So an
// incomplete transfer is found, the allocator is used, and leaves split and disappear while several
// threads use them.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "elider/heap.h"
#include "elider/heap_map.h"
#include "elider/heap_ordered_map.h"
#include "elider/try.h"

namespace elider::heap_victim {
namespace {

constexpr uint32_t kAccounts = 64, kThreadsMax = 8;
constexpr int64_t kCentsEach = 1000;
constexpr uint64_t kJournalMax = 40;

struct Entry {
  uint64_t number;
  uint32_t from, to;
  int64_t cents;
  HeapPtr<Entry> next;
  HeapPtr<char> note;
  uint64_t note_bytes;
};
struct Journal {  // of a thread
  uint64_t done;
  uint64_t entries;
  HeapPtr<Entry> first, last;
  int64_t settled[kAccounts];  // what the entries that are gone gave to each account
  uint64_t own_line[4];
};
struct Books {
  Journal journals[kThreadsMax];
  HeapMap<uint64_t, int64_t> accounts;
  HeapMap<uint64_t, HeapPtr<Entry>> by_name;
  HeapOrderedMap<uint64_t, HeapPtr<Entry>> in_order;
};
// The names of different threads' entries are adjacent.
uint64_t name_of(uint64_t number, uint32_t thread) { return number * kThreadsMax + thread; }

struct VictimOptions {
  std::string file;
  uint32_t threads = 4;
  uint64_t seed = 1;
  HeapOptions heap;
};

char letter_of(uint64_t number, uint64_t place) { return static_cast<char>('a' + (number + place) % 26); }

void tell(const char* kind, uint32_t thread, uint64_t number) {
  const std::string line = std::string(kind) + " " + std::to_string(thread) + " " + std::to_string(number) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}
[[noreturn]] void give_up(const Status& status) {
  std::fprintf(stderr, "heap_victim: %s\n", status.message().c_str());
  std::_Exit(3);
}
Status wrong(const std::string& what) { return Status(Code::kCorrupt, what); }

Status settle_oldest(HeapTransaction& txn, Books& books, uint32_t thread, Journal* now) {
  Journal& journal = books.journals[thread];
  const Entry oldest = txn.read(txn[now->first]);
  for (const auto& [account, cents] : {std::pair{oldest.from, -oldest.cents}, std::pair{oldest.to, oldest.cents}})
    txn.write(journal.settled[account], txn.read(journal.settled[account]) + cents);
  ELIDER_TRY(books.by_name.erase(txn, name_of(oldest.number, thread)));
  ELIDER_TRY(books.in_order.erase(txn, name_of(oldest.number, thread)));
  ELIDER_TRY(txn.free(oldest.note));
  ELIDER_TRY(txn.free(now->first));
  now->first = oldest.next;
  --now->entries;
  return {};
}

// The number of the transfer.
Status transfer(Heap& heap, uint32_t thread, std::mt19937_64& random, uint64_t* number) {
  const uint64_t from = random() % kAccounts, to = (from + 1 + random() % (kAccounts - 1)) % kAccounts, note_bytes = 1 + random() % 700;
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto books, txn.root<Books>("books"));
    auto& accounts = txn[books].accounts;
    Journal& journal = txn[books].journals[thread];
    ELIDER_ASSIGN(const int64_t source, accounts.get(txn, from));
    ELIDER_ASSIGN(const int64_t target, accounts.get(txn, to));
    const int64_t cents = source / 7 + 1;
    ELIDER_TRY(accounts.put(txn, from, source - cents));
    ELIDER_TRY(accounts.put(txn, to, target + cents));

    *number = txn.read(journal.done) + 1;
    Entry entry{*number, static_cast<uint32_t>(from), static_cast<uint32_t>(to), cents, {}, {}, note_bytes};
    ELIDER_ASSIGN(entry.note, txn.allocate<char>(note_bytes));
    for (uint64_t i = 0; i < note_bytes; ++i) txn.write((&txn[entry.note])[i], letter_of(*number, i));
    ELIDER_ASSIGN(auto made, txn.make(entry));
    ELIDER_TRY(txn[books].by_name.insert(txn, name_of(*number, thread), made));
    ELIDER_TRY(txn[books].in_order.insert(txn, name_of(*number, thread), made));
    Journal now{};
    now.entries = txn.read(journal.entries) + 1;
    now.first = txn.read(journal.first);
    const HeapPtr<Entry> last = txn.read(journal.last);
    if (now.first)
      txn.write(txn[last].next, made);
    else
      now.first = made;
    if (now.entries > kJournalMax) ELIDER_TRY(settle_oldest(txn, txn[books], thread, &now));
    txn.write(journal.done, *number);
    txn.write(journal.entries, now.entries);
    txn.write(journal.first, now.first);
    txn.write(journal.last, made);
    return {};
  });
}

void work(Heap& heap, const VictimOptions& options, uint32_t thread) {
  std::mt19937_64 random(options.seed + thread);
  const bool later = options.heap.durability == HeapDurability::kLater;
  for (uint64_t i = 1;; ++i) {
    uint64_t number = 0;
    if (Status status = transfer(heap, thread, random, &number); !status.ok()) give_up(status);
    if (later) {
      if (i % 8 != 0) continue;
      if (Status status = heap.persist(); !status.ok()) give_up(status);
    }
    tell("did", thread, number);
  }
}

// What a reader has seen is as durable as what is acknowledged.
void watch(Heap& heap, const VictimOptions& options) {
  std::vector<uint64_t> seen(kThreadsMax);
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    std::vector<uint64_t> done(kThreadsMax);
    const Status status = heap.read([&](HeapReader& reader) -> Status {
      ELIDER_ASSIGN(auto books, reader.root<Books>("books"));
      const auto& accounts = reader[books].accounts;
      int64_t total = 0;
      for (uint64_t account = 0; account < kAccounts; ++account) {
        ELIDER_ASSIGN(const int64_t cents, accounts.get(reader, account));
        total += cents;
      }
      if (total != kAccounts * kCentsEach) return wrong("a reader saw a total of " + std::to_string(total));
      for (uint32_t thread = 0; thread < kThreadsMax; ++thread) done[thread] = reader.read(reader[books].journals[thread].done);
      return {};
    });
    if (!status.ok()) give_up(status);
    if (options.heap.durability == HeapDurability::kLater)
      if (Status durable = heap.persist(); !durable.ok()) give_up(durable);
    for (uint32_t thread = 0; thread < kThreadsMax; ++thread)
      if (done[thread] > seen[thread]) tell("saw", thread, seen[thread] = done[thread]);
  }
}

Status make_books(Heap& heap) {
  return heap.transaction([&](HeapTransaction& txn) -> Status {
    ELIDER_ASSIGN(auto books, txn.root<Books>("books"));
    auto& accounts = txn[books].accounts;
    if (accounts.get(txn, 0).ok()) return {};
    for (uint64_t account = 0; account < kAccounts; ++account) ELIDER_TRY(accounts.put(txn, account, kCentsEach));
    return {};
  });
}

// Adds to `cents` what the journal's entries and those that are settled gave to each account.
Status check_journal(HeapReader& reader, const Journal& journal, const std::string& whose, std::vector<int64_t>* cents) {
  for (uint32_t account = 0; account < kAccounts; ++account) (*cents)[account] += journal.settled[account];
  if (journal.entries > kJournalMax || journal.entries > journal.done)
    return wrong(whose + " has " + std::to_string(journal.entries) + " entries");
  HeapPtr<Entry> at = journal.first, last;
  for (uint64_t number = journal.done - journal.entries + 1; number <= journal.done; ++number) {
    if (!at) return wrong(whose + " ends before entry " + std::to_string(number));
    const Entry entry = reader.read(reader[at]);
    if (entry.number != number) return wrong(whose + " has entry " + std::to_string(entry.number) + " for " + std::to_string(number));
    for (uint64_t i = 0; i < entry.note_bytes; ++i)
      if (reader.read((&reader[entry.note])[i]) != letter_of(number, i))
        return wrong(whose + ": the note of entry " + std::to_string(number));
    (*cents)[entry.from] -= entry.cents;
    (*cents)[entry.to] += entry.cents;
    last = at;
    at = entry.next;
  }
  if (at || (journal.entries != 0 && last != journal.last)) return wrong(whose + " has another end than its last entry");
  return {};
}

// Both maps lead to the entries of the journals, and to nothing else.
Status check_maps(HeapReader& reader, const Books& books) {
  uint64_t entries = 0, last = 0, wrong_ones = 0;
  for (uint32_t thread = 0; thread < kThreadsMax; ++thread) {
    const Journal journal = reader.read(books.journals[thread]);
    entries += journal.entries;
    uint64_t number = journal.done - journal.entries + 1;
    for (HeapPtr<Entry> at = journal.first; at; at = reader.read(reader[at].next), ++number) {
      const auto named = books.by_name.get(reader, name_of(number, thread)), ordered = books.in_order.get(reader, name_of(number, thread));
      if (!named.ok() || *named != at || !ordered.ok() || *ordered != at)
        return wrong("a map does not lead to entry " + std::to_string(number) + " of thread " + std::to_string(thread));
    }
  }
  uint64_t ordered = 0;
  books.in_order.for_each(reader, [&](uint64_t name, HeapPtr<Entry>) {
    wrong_ones += ordered != 0 && name <= last;
    last = name;
    ++ordered;
  });
  if (wrong_ones != 0) return wrong("the ordered map is not in order");
  if (ordered != entries || books.by_name.size(reader) != entries || books.in_order.size(reader) != entries)
    return wrong("the maps have " + std::to_string(books.by_name.size(reader)) + " and " + std::to_string(ordered) +
                 " entries, the journals " + std::to_string(entries));
  return {};
}

Status look(Heap& heap, uint32_t threads) {
  return heap.read([&](HeapReader& reader) -> Status {
    ELIDER_ASSIGN(auto books, reader.root<Books>("books"));
    const auto& accounts = reader[books].accounts;
    std::vector<int64_t> cents(kAccounts, kCentsEach);
    std::string counts;
    for (uint32_t thread = 0; thread < kThreadsMax; ++thread) {
      const Journal journal = reader.read(reader[books].journals[thread]);
      ELIDER_TRY(check_journal(reader, journal, "the journal of thread " + std::to_string(thread), &cents));
      if (thread < threads) counts += (counts.empty() ? "" : ", ") + std::to_string(journal.done);
    }
    for (uint64_t account = 0; account < kAccounts; ++account) {
      ELIDER_ASSIGN(const int64_t there, accounts.get(reader, account));
      if (there != cents[account])
        return wrong("account " + std::to_string(account) + " has " + std::to_string(there) + " cents; by the journals " +
                     std::to_string(cents[account]));
    }
    ELIDER_TRY(check_maps(reader, reader[books]));
    std::printf("[%s]\n", counts.c_str());
    return {};
  });
}

Status run(const std::string& what, const VictimOptions& options) {
  ELIDER_ASSIGN(Heap heap, Heap::open(options.file, 1 << 20, options.heap));
  ELIDER_TRY(make_books(heap));
  if (what == "look") return look(heap, options.threads);
  tell("ready", 0, heap.status().recovered);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < options.threads; ++thread) threads.emplace_back([&, thread] { work(heap, options, thread); });
  watch(heap, options);
  return {};
}

// The one of this name.
template <class Choice>
bool choose(const std::string& name, Choice* choice) {
  for (int i = 0; i < 3; ++i)
    if (name == name_of(static_cast<Choice>(i))) {
      *choice = static_cast<Choice>(i);
      return true;
    }
  return false;
}

bool parse(int count, char** words, VictimOptions* options) {
  if (count < 3 || count % 2 == 0) return false;
  options->file = words[2];
  options->heap.capacity_bytes = uint64_t{1} << 30;
  options->heap.log_bytes = 64 << 10;  // the smallest, so that it is replayed all the time
  options->heap.markers = 256;
  options->heap.threads_max = kThreadsMax;
  for (int i = 3; i + 1 < count; i += 2) {
    const std::string name = words[i], value = words[i + 1];
    if (name == "--threads")
      options->threads = static_cast<uint32_t>(std::stoul(value));
    else if (name == "--seed")
      options->seed = std::stoull(value);
    else if (name == "--background")
      options->heap.background_replay = value != "0";
    else if (name == "--medium" && choose(value, &options->heap.medium))
      continue;
    else if (name == "--isolation" && choose(value, &options->heap.isolation))
      continue;
    else if (name == "--durability" && choose(value, &options->heap.durability))
      continue;
    else if (name == "--wait" && choose(value, &options->heap.wait))
      continue;
    else
      return false;
  }
  const std::string what = words[1];
  return (what == "work" || what == "look") && options->threads >= 1 && options->threads < kThreadsMax;
}

}  // namespace
}  // namespace elider::heap_victim

int main(int count, char** words) {
  elider::heap_victim::VictimOptions options;
  if (!elider::heap_victim::parse(count, words, &options)) {
    std::fprintf(stderr,
                 "usage: heap_victim work|look FILE [--threads N] [--seed N] [--medium file|delay] "
                 "[--isolation serializable|snapshot] [--durability wait|later] [--wait pruned|total|own] [--background 0|1]\n");
    return 2;
  }
  const elider::Status status = elider::heap_victim::run(words[1], options);
  if (!status.ok()) elider::heap_victim::give_up(status);
  return 0;
}
