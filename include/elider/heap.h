// Heap: transactions on ordinary memory that survive a crash (DUMBO). A file in which C++ objects
// live; transactions change them, and after a crash all or nothing of each is there.
//
//   auto heap = elider::Heap::open("book.heap", 64 << 20);
//   struct Counter { uint64_t hits; };
//   heap->transaction([&](elider::HeapTransaction& txn) -> elider::Status {
//     ELIDER_ASSIGN(auto counter, txn.root<Counter>("counter"));
//     txn.write(txn[counter].hits, txn.read(txn[counter].hits) + 1);
//     return {};
//   });
//
// What you must do: read through read() and write through write(), in objects that are trivially
// copyable and hold no pointers but HeapPtr. txn[p] says where an object is, and is no access.
// Objects need not lie at the same address in the next process: HeapPtr is an offset.
//
// fork(): a child cannot use a heap that its parent has opened. Every call that returns a Status
// returns kInvalidArgument there; the destructor gives memory back to the system and touches
// neither the file nor the parent's lock. A program that forks opens its heaps afterwards. The
// child of a fork within a transaction must not return into it: it ends by exec(), exit() or
// _exit().
//
// Independent of Database and its tables. Paper sections: each member names its own;
// docs/heap.md says what differs.
// Thread safety: a Heap belongs to all threads; a HeapTransaction or HeapReader to the procedure
// that was given it.
#pragma once

#include "elider/language.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "elider/elision.h"
#include "elider/function_ref.h"
#include "elider/status.h"

namespace elider {

// Where an object is, relative to its heap: valid at any address, in files and in the next
// process. Null by default. A value of 8 bytes; objects of a heap may hold it.
template <class T>
class HeapPtr {
 public:
  HeapPtr() = default;
  HeapPtr(std::nullptr_t) {}
  static HeapPtr at(uint64_t offset) {
    HeapPtr pointer;
    pointer.offset_ = offset;
    return pointer;
  }
  uint64_t offset() const { return offset_; }
  explicit operator bool() const { return offset_ != 0; }
  friend bool operator==(HeapPtr, HeapPtr) = default;
  template <class U>
  HeapPtr<U> as() const {
    return HeapPtr<U>::at(offset_);
  }

 private:
  uint64_t offset_ = 0;
};

// What can live in a heap: bytes are copied, and words of 8 bytes are the finest alignment needed.
template <class T>
concept HeapObject = std::is_trivially_copyable_v<T> && alignof(T) <= 8;

enum class HeapIsolation : uint8_t {
  kSerializable,  // transactions take effect one after the other, in real time's order, and each sees one moment while it runs (opacity)
  kSnapshot,      // each reads one moment; two that overlap write no cache line of 64 bytes in common; write skew is possible
};

// What a transaction is written to before it counts as durable, and what it then survives.
enum class HeapMedium : uint8_t {
  kFile,   // a file, with fdatasync that threads share: power failures
  kDax,    // a file on persistent memory, mapped, with cache line write-back and fences: power failures. kUnsupported elsewhere
  kDelay,  // a mapped file, each line's flush 310 ns (HeapOptions::flush_ns) long: for studies; survives the process, not the machine
};

enum class HeapDurability : uint8_t {
  kWait,   // transaction() returns once its changes are durable, and what it read; read() once what it read is
  kLater,  // both return at once; Heap::persist() waits. Whatever survives a crash, survives with all that it had read
};

// Whose durability a transaction waits for. The others than kPruned are for comparison.
enum class HeapWait : uint8_t {
  kPruned,  // those that it may have read from (DUMBO, section 3.2)
  kTotal,   // all that ended before, and all that run beside it: as SPHT (DUMBO, section 2.2)
  kOwn,     // its own, before others see what it wrote: as Pisces (DUMBO, section 4.1). A read may wait as it begins, for a
            // commit that is becoming durable, and not as it ends. Without regions
};

std::string_view name_of(HeapIsolation isolation);    // "serializable", "snapshot"
std::string_view name_of(HeapMedium medium);          // "file", "dax", "delay"
std::string_view name_of(HeapDurability durability);  // "wait", "later"
std::string_view name_of(HeapWait wait);              // "pruned", "total", "own"
// False: nothing has this name.
bool parse(std::string_view name, HeapIsolation* isolation);
bool parse(std::string_view name, HeapMedium* medium);
bool parse(std::string_view name, HeapDurability* durability);
bool parse(std::string_view name, HeapWait* wait);

struct HeapOptions {
  HeapIsolation isolation = HeapIsolation::kSerializable;
  HeapMedium medium = HeapMedium::kFile;
  HeapDurability durability = HeapDurability::kWait;
  HeapWait wait = HeapWait::kPruned;
  // What runs update transactions. kNone and kAutomatic: software. The others: one hardware
  // transaction each, in place; what does not succeed so runs alone, in software. A backend that is
  // asked for by name is not tested first.
  //   kUnsupported  this processor or build does not have it
  HtmBackend backend = HtmBackend::kAutomatic;
  // Of kRtm, where the processor can (TSXLDTRK): regions do not track what they read while they
  // wait. Off for studies: as on a processor with RTM alone.
  bool suspended_reads = true;
  uint64_t capacity_bytes = uint64_t{64} << 30;  // up to which the heap grows: address space; 1 MiB to 16 TiB
  // Of a new file; an existing one keeps its own.
  // Each thread's redo log; 64 KiB to 4 GiB. A transaction may fill half of it: 8 bytes a word
  // written, and 8 for each run of neighbours.
  uint64_t log_bytes = uint64_t{4} << 20;
  uint32_t threads_max = 32;               // transactions at a time; 1 to 64
  uint32_t markers = 1u << 14;             // transactions that may wait for the replayer; 256 to 2^24, a power of two
  uint32_t flush_ns = 310;                 // kDelay: for each line
  bool background_replay = true;           // a thread of its own replays the log when it is half full; else transactions do when it is full
};

// An object that has a name.
struct HeapRoot {
  std::string name;
  std::string type;    // as a programmer writes it
  uint64_t bytes = 0;  // of the object itself, without those that it points to
};

struct HeapStatus {
  uint64_t heap_bytes = 0;       // of the file, without its log
  uint64_t used_bytes = 0;       // handed out to arenas, of heap_bytes
  uint64_t log_bytes = 0;        // of redo logs and markers
  uint64_t last_number = 0;      // of a transaction
  uint64_t replayed_number = 0;  // up to which the file has what transactions wrote
  std::string medium;            // "file"
  std::string promise;           // what it survives, in words
  std::string backend;           // of update transactions, and what it can suspend: "software", "RTM, reads suspended"
  std::vector<HeapRoot> roots;   // the newest first
  // Why nothing can be written: the words of the failure. Empty: transactions can commit.
  std::string read_only_because;
  // Since it was opened.
  uint64_t recovered = 0;  // transactions that opening it replayed
  uint64_t dropped = 0;    // transactions that had not become durable, and what opening it found of them
  uint64_t commits = 0, reads = 0, conflicts = 0, serial = 0;
  uint64_t region_commits = 0;                              // of commits
  std::array<uint64_t, kRegionCauseCount> region_aborts{};  // by region_cause_name()
  uint64_t syncs = 0;
  uint64_t replays = 0, replayed_words = 0;
};

// What a heap's file holds, found without opening it (`elider heap check`).
struct HeapCheck {
  uint64_t blocks = 0, block_bytes = 0;      // in use
  uint64_t free_blocks = 0, free_bytes = 0;  // in free lists
  uint64_t unused_bytes = 0;                 // of chunks, not yet cut
  uint64_t lost_bytes = 0;                   // neither: 0 unless the file is damaged
  uint64_t roots = 0;
  uint64_t pending = 0;  // transactions in the log that the heap does not have yet; the check looks at the heap with them
};

namespace detail {
class HeapInside;
struct EndHeap {
  void operator()(HeapInside* heap) const;
};
class HeapAttempt;
template <class T>
std::string_view heap_type_name() {
  return typeid(T).name();
}
// What a structure's for_each calls: false where the visitor says so, which ends it.
template <class Visit, class... Args>
bool visit_and_go_on(Visit& visit, const Args&... args) {
  if constexpr (std::is_void_v<std::invoke_result_t<Visit&, const Args&...>>) {
    visit(args...);
    return true;
  } else {
    return visit(args...);
  }
}
}  // namespace detail

// What a procedure of Heap::read is given. It sees one moment, and enters no region.
class HeapReader {
 public:
  HeapReader(const HeapReader&) = delete;
  HeapReader& operator=(const HeapReader&) = delete;

  // The place of an object, for read(). A plain load from it may see half of a commit.
  template <class T>
  const T& operator[](HeapPtr<T> pointer) const {
    return *reinterpret_cast<const T*>(base_ + pointer.offset());
  }
  template <class T>
  HeapPtr<T> pointer_to(const T& object) const {
    return HeapPtr<T>::at(static_cast<uint64_t>(reinterpret_cast<const std::byte*>(&object) - base_));
  }

  // The value at this moment, and with what this transaction has written. What does not lie in the
  // heap is copied as it is.
  template <HeapObject T>
  T read(const T& place) const {
    if (plain_) [[likely]]
      return place;
    T value;
    read_bytes(&place, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void read_bytes(const void* place, std::span<std::byte> into) const;

  // The object of this name.
  //   kNotFound        there is none
  //   kSchemaMismatch  it is of another type; the message names both
  template <HeapObject T>
  Result<HeapPtr<T>> root(std::string_view name) const {
    uint64_t offset = 0;
    if (Status status = find_root(name, detail::heap_type_name<T>(), sizeof(T), &offset); !status.ok()) return status;
    return HeapPtr<T>::at(offset);
  }

 protected:
  friend class detail::HeapAttempt;
  HeapReader(std::byte* base, bool plain, detail::HeapAttempt& attempt) : base_(base), plain_(plain), attempt_(attempt) {}
  Status find_root(std::string_view name, std::string_view type, size_t bytes, uint64_t* offset) const;

  std::byte* base_;
  bool plain_;  // no other transaction's writes are underway, and there are none of its own
  detail::HeapAttempt& attempt_;
};

// Cache lines, of 64 bytes, that a transaction has touched.
struct HeapFootprint {
  uint64_t lines_read = 0;  // a few less, where two are 16 MiB apart; 0 under kSnapshot, which keeps no account
  uint64_t lines_written = 0;
};

// What a procedure of Heap::transaction is given.
class HeapTransaction : public HeapReader {
 public:
  // The place of an object, for read() and write(). It must not be changed by itself: that goes
  // past the transaction and is lost.
  template <class T>
  T& operator[](HeapPtr<T> pointer) const {
    return *reinterpret_cast<T*>(base_ + pointer.offset());
  }

  // The value stands there when the transaction commits, and for its own reads at once. A place
  // that is not in the heap, or that a null HeapPtr leads to, ends the transaction with
  // kInvalidArgument.
  template <HeapObject T>
  void write(T& place, const std::type_identity_t<T>& value) {
    write_bytes(&place, std::as_bytes(std::span(&value, 1)));
  }
  void write_bytes(void* place, std::span<const std::byte> bytes);

  // Conflicts as a write of these bytes would, and changes nothing. Call it under kSnapshot before
  // you copy words elsewhere and give up their old place; otherwise what another transaction writes
  // there meanwhile is lost. Under kSerializable having read them is enough, and this does nothing.
  template <HeapObject T>
  void claim(const T& place) {
    claim_bytes(&place, sizeof(T));
  }
  void claim_bytes(const void* place, size_t bytes);

  // Room for `count` objects, all bytes 0; however many, that takes little of the log. If the
  // transaction does not commit, it is given back.
  //   kMemoryLimit  HeapOptions::capacity_bytes is reached, or it is more than 8 TiB; the
  //                 transaction cannot commit any more
  //   kIoError      the disk is too full for the larger file; the message names it and the bytes
  //   kCorrupt      the heap's free lists are damaged
  template <HeapObject T>
  Result<HeapPtr<T>> allocate(uint64_t count = 1) {
    uint64_t offset = 0;
    if (count > (uint64_t{1} << 44) / sizeof(T)) count = (uint64_t{1} << 44) / sizeof(T);
    if (Status status = allocate_bytes(count * sizeof(T), &offset); !status.ok()) return status;
    return HeapPtr<T>::at(offset);
  }
  template <HeapObject T>
  Result<HeapPtr<T>> make(const T& value) {
    Result<HeapPtr<T>> made = allocate<T>();
    if (made.ok()) write((*this)[*made], value);
    return made;
  }
  // Gives back what allocate() or make() gave, and claims it (see above). Null: nothing happens.
  //   kInvalidArgument  this is not an object, or it is a root, which remove_root() frees; the
  //                     transaction cannot commit any more
  template <class T>
  Status free(HeapPtr<T> pointer) {
    return free_bytes(pointer.offset());
  }

  // The object of this name; it is made, all bytes 0, if there is none. kSchemaMismatch: there is
  // one of another type. Names have 1 to 255 bytes.
  template <HeapObject T>
  Result<HeapPtr<T>> root(std::string_view name) {
    uint64_t offset = 0;
    if (Status status = find_or_make_root(name, detail::heap_type_name<T>(), sizeof(T), &offset); !status.ok()) return status;
    return HeapPtr<T>::at(offset);
  }
  // Forgets the name and gives the object back; what it points to is the caller's. kNotFound.
  Status remove_root(std::string_view name);

  // So far: how large a hardware transaction would have to be (DUMBO, table 1). May throw
  // std::bad_alloc. In one, the transaction begins again in software.
  HeapFootprint footprint() const;

 private:
  friend class detail::HeapAttempt;
  using HeapReader::HeapReader;
  Status allocate_bytes(uint64_t bytes, uint64_t* offset);
  Status free_bytes(uint64_t offset);
  Status find_or_make_root(std::string_view name, std::string_view type, size_t bytes, uint64_t* offset);
};

class Heap {
 public:
  Heap();
  Heap(Heap&&) noexcept;
  Heap& operator=(Heap&&) noexcept;
  ~Heap();  // waits for what is not durable yet, and replays the log. No transaction may run

  // Opens the heap in a file, or makes one of `bytes` (at least 1 MiB; it grows). What a crash left
  // in its log is replayed first. The whole file gets its room on the disk. If there is not enough
  // for one that exists, the heap opens for reading: HeapStatus::read_only_because says why, and
  // transactions return kIoError.
  //   kInvalidArgument  an option, which is named; or somebody has the file open
  //   kCorrupt          the file is not a heap, or is damaged or cut short; it is left as it was,
  //                     unless the list of roots is damaged: the log is then replayed first.
  //                     docs/heap.md ("How it works") lists the parts that have no checksum
  //   kUnsupported      a newer program made it; or this medium cannot be had here
  //   kIoError          the file cannot be read or written; the disk is too full for a new one
  //   kMemoryLimit
  static Result<Heap> open(const std::string& path, uint64_t bytes, const HeapOptions& options = {});
  // Without a size, a new heap begins with 1 MiB.
  static Result<Heap> open(const std::string& path, const HeapOptions& options = {});
  bool is_open() const { return inside_ != nullptr; }

  // Runs procedure(HeapTransaction&), which returns a Status or nothing, and commits; on a conflict
  // runs it again, after some times alone. If it returns an error or throws, nothing of it is done.
  //   kProcedureThrew   the message holds what()
  //   kMemoryLimit      no room for what it allocates or writes: capacity_bytes, or log_bytes
  //   kInvalidArgument  it wrote outside the heap, freed a root or a non-object, or runs within
  //                     another procedure of this heap or another
  //   kCorrupt          the allocator found damage; take a backup and run `elider heap check`
  //   kIoError          the file could not be written: nothing more can be, and the heap can only
  //                     be read from now on, as it stands in memory. If the transaction was waiting
  //                     for the disk, it took effect, and a crash may lose it
  // Exceptions that end a thread pass through.
  template <class F>
  Status transaction(F&& procedure) {
    return run([&](HeapTransaction& txn) -> Status { return as_status(procedure, txn); });
  }
  // Runs procedure(HeapReader&) once, on one moment: all that ended before is seen. Writes wait for
  // it, so be short. kIoError: what it read failed to become durable meanwhile.
  template <class F>
  Status read(F&& procedure) {
    return run_reader([&](HeapReader& reader) -> Status { return as_status(procedure, reader); });
  }

  // Waits until all that has committed is durable.
  //   kIoError          it may not be
  //   kInvalidArgument  called within a procedure
  Status persist();
  // Brings the file up to the log's end, and so empties the log. It happens by itself.
  Status replay();
  HeapStatus status() const;

  // What is in a heap's file that nobody has open; nothing is changed. kCorrupt: what is wrong and
  // where.
  static Result<HeapCheck> check(const std::string& path);
  static Result<HeapStatus> status_of(const std::string& path);

 private:
  explicit Heap(std::unique_ptr<detail::HeapInside> inside);
  Status run(FunctionRef<Status(HeapTransaction&)> procedure);
  Status run_reader(FunctionRef<Status(HeapReader&)> procedure);
  template <class F, class Argument>
  static Status as_status(F& procedure, Argument& argument) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Argument&>>) {
      procedure(argument);
      return {};
    } else {
      return procedure(argument);
    }
  }

  Status usable() const;

  std::unique_ptr<detail::HeapInside, detail::EndHeap> inside_;
};

}  // namespace elider
