// Heap: durable transactions on C++ objects in ordinary memory (DUMBO). A heap is a file that
// contains the objects. After a crash, the file contains either all changes of a transaction or
// none of them.
//
//   auto heap = elider::Heap::open("book.heap", 64 << 20);
//   struct Counter { uint64_t hits; };
//   heap->transaction([&](elider::HeapTransaction& txn) -> elider::Status {
//     ELIDER_ASSIGN(auto counter, txn.root<Counter>("counter"));
//     txn.write(txn[counter].hits, txn.read(txn[counter].hits) + 1);
//     return {};
//   });
//
// Rules: objects are trivially copyable, and contain HeapPtr instead of pointers. Read them only
// with read(), and write them only with write(). txn[p] only forms a reference to an object, and
// does not access the object. A HeapPtr is an offset, so the next process may map the objects at
// other addresses.
//
// fork(): a child process cannot use a heap that its parent has opened. In the child, every call
// that returns a Status returns kInvalidArgument. The child's destructor only unmaps memory, and
// does not touch the file or the parent's lock. Open the heap after fork(). A child that was forked
// within a transaction must not continue the transaction. It must call exec(), exit() or _exit()
// instead.
//
// A Heap is independent of Database and its tables. The comments below cite sections of the paper.
// docs/heap.md lists the differences from the paper.
// Thread safety: any thread may use a Heap at any time. A HeapTransaction or HeapReader may be used
// only by the procedure that receives it.
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

// The position of an object, relative to its heap. A HeapPtr stays valid in files and in the next
// process, wherever the heap is mapped. A default-constructed HeapPtr is null. A HeapPtr occupies 8
// bytes. Objects in a heap may contain HeapPtrs.
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

// The types that a heap can store: trivially copyable types with an alignment of at most 8 bytes.
template <class T>
concept HeapObject = std::is_trivially_copyable_v<T> && alignof(T) <= 8;

enum class HeapIsolation : uint8_t {
  kSerializable,  // transactions take effect one after the other, in real-time order; each sees a single state while it runs (opacity)
  kSnapshot,      // each reads a single state; if concurrent ones write the same 64-byte cache line, only one commits; allows write skew
};

// The storage to which a transaction must be written before it is durable, and the failures that a
// durable transaction survives.
enum class HeapMedium : uint8_t {
  kFile,   // a file, with fdatasync shared by threads; survives power failures
  kDax,    // a mapped file on persistent memory, with cache-line write-back and fences; survives power failures. Otherwise kUnsupported
  kDelay,  // for studies: a mapped file; flushing a cache line takes 310 ns (HeapOptions::flush_ns). Survives a crash of the process only
};

enum class HeapDurability : uint8_t {
  kWait,   // transaction() returns when its changes and what it read are durable; read() when what it read is durable
  // transaction() and read() return immediately; Heap::persist() waits. If a transaction survives a
  // crash, everything that it has read survives as well.
  kLater,
};

// Which transactions must be durable before transaction() returns. kTotal and kOwn are for
// comparison.
enum class HeapWait : uint8_t {
  kPruned,  // the transaction itself and those that it may have read from (DUMBO, section 3.2)
  kTotal,   // the transaction itself, and all that ended before it or run concurrently, as in SPHT (DUMBO, section 2.2)
  // Only the transaction itself, before its writes become visible, as in Pisces (DUMBO, section
  // 4.1). A read may wait at its beginning for a commit that is not yet durable, but does not wait
  // at its end. Needs the software backend.
  kOwn,
};

std::string_view name_of(HeapIsolation isolation);    // "serializable", "snapshot"
std::string_view name_of(HeapMedium medium);          // "file", "dax", "delay"
std::string_view name_of(HeapDurability durability);  // "wait", "later"
std::string_view name_of(HeapWait wait);              // "pruned", "total", "own"
// These return false if the name is unknown.
bool parse(std::string_view name, HeapIsolation* isolation);
bool parse(std::string_view name, HeapMedium* medium);
bool parse(std::string_view name, HeapDurability* durability);
bool parse(std::string_view name, HeapWait* wait);

struct HeapOptions {
  HeapIsolation isolation = HeapIsolation::kSerializable;
  HeapMedium medium = HeapMedium::kFile;
  HeapDurability durability = HeapDurability::kWait;
  HeapWait wait = HeapWait::kPruned;
  // The backend that runs update transactions. kNone and kAutomatic select the software
  // implementation. The other backends run each transaction in place, as one hardware transaction.
  // If the hardware transaction does not succeed, the transaction runs alone in software. A backend
  // that is named explicitly is used without a self-test.
  //   kUnsupported  this processor or build does not have the backend
  HtmBackend backend = HtmBackend::kAutomatic;
  // If true, hardware transactions of kRtm suspend the tracking of their reads while they wait, on
  // processors with TSXLDTRK. Turn it off only for studies.
  bool suspended_reads = true;
  uint64_t capacity_bytes = uint64_t{64} << 30;  // maximum size, for which address space is reserved; 1 MiB to 16 TiB
  // The next three members apply to a new file; an existing file keeps its own values.
  // The size of each thread's redo log, 64 KiB to 4 GiB. A transaction may use half of its thread's
  // log. It uses 8 bytes per written word, and 8 bytes for each run of adjacent words.
  uint64_t log_bytes = uint64_t{4} << 20;
  uint32_t threads_max = 32;               // concurrent transactions; 1 to 64
  uint32_t markers = 1u << 14;             // transactions that may wait for replay; 256 to 2^24, a power of two
  uint32_t flush_ns = 310;                 // for kDelay: time to flush a cache line
  // If true, a background thread replays the log when it is half full. Otherwise transactions
  // replay the log when it is full.
  bool background_replay = true;
};

// A named object.
struct HeapRoot {
  std::string name;
  std::string type;    // the C++ name of the type
  uint64_t bytes = 0;  // size of the object, without other objects that it points to
};

struct HeapStatus {
  uint64_t heap_bytes = 0;       // size of the file without its log
  uint64_t used_bytes = 0;       // part of heap_bytes that is allocated to arenas
  uint64_t log_bytes = 0;        // size of redo logs and markers
  uint64_t last_number = 0;      // number of the last transaction
  uint64_t replayed_number = 0;  // the file contains the writes of transactions up to this number
  std::string medium;            // "file"
  std::string promise;           // what a durable transaction survives, in words
  std::string backend;           // how update transactions run: "software", "RTM", "RTM, reads suspended", ...
  std::vector<HeapRoot> roots;   // the newest first
  // The failure that made the heap read-only. Empty if transactions can commit.
  std::string read_only_because;
  // Since the heap was opened:
  uint64_t recovered = 0;  // transactions that were replayed when the heap was opened
  uint64_t dropped = 0;    // transactions that were discarded when the heap was opened, because they had not become durable
  uint64_t commits = 0, reads = 0, conflicts = 0, serial = 0;
  uint64_t region_commits = 0;                              // commits in hardware transactions
  std::array<uint64_t, kRegionCauseCount> region_aborts{};  // by region_cause_name()
  uint64_t syncs = 0;
  uint64_t replays = 0, replayed_words = 0;
};

// What Heap::check() and `elider heap check` find in a heap's file.
struct HeapCheck {
  uint64_t blocks = 0, block_bytes = 0;      // in use
  uint64_t free_blocks = 0, free_bytes = 0;  // in free lists
  uint64_t unused_bytes = 0;                 // in chunks that are not yet divided into blocks
  uint64_t lost_bytes = 0;                   // not in use and not free; above 0 only if the file is damaged
  uint64_t roots = 0;
  uint64_t pending = 0;  // transactions that are only in the log; the other numbers include them
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
// Calls the visitor of a for_each() function. Returns whether the iteration continues, which is
// false only if the visitor returns false.
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

// The argument that Heap::read() passes to its procedure. The procedure sees a single state, and
// runs without hardware transactions.
class HeapReader {
 public:
  HeapReader(const HeapReader&) = delete;
  HeapReader& operator=(const HeapReader&) = delete;

  // Returns a reference that can be passed to read(). Do not read the object directly through the
  // reference, because you may see half of a commit.
  template <class T>
  const T& operator[](HeapPtr<T> pointer) const {
    return *reinterpret_cast<const T*>(base_ + pointer.offset());
  }
  template <class T>
  HeapPtr<T> pointer_to(const T& object) const {
    return HeapPtr<T>::at(static_cast<uint64_t>(reinterpret_cast<const std::byte*>(&object) - base_));
  }

  // Returns the value of `place` in the transaction's state, including the transaction's own
  // writes. If `place` is outside of the heap, read() simply copies it.
  template <HeapObject T>
  T read(const T& place) const {
    if (plain_) [[likely]]
      return place;
    T value;
    read_bytes(&place, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  void read_bytes(const void* place, std::span<std::byte> into) const;

  // Returns the object of this name.
  //   kNotFound        the name does not exist
  //   kSchemaMismatch  the object has another type; the message names both
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
  bool plain_;  // neither this transaction nor another one has pending writes
  detail::HeapAttempt& attempt_;
};

// The 64-byte cache lines that a transaction has accessed.
struct HeapFootprint {
  uint64_t lines_read = 0;  // slightly too low if two lines are 16 MiB apart; 0 under kSnapshot, which does not track reads
  uint64_t lines_written = 0;
};

// The argument that Heap::transaction() passes to its procedure.
class HeapTransaction : public HeapReader {
 public:
  // Returns a reference that can be passed to read() and write(). Do not assign to the object
  // directly, because the assignment would bypass the transaction and be lost.
  template <class T>
  T& operator[](HeapPtr<T> pointer) const {
    return *reinterpret_cast<T*>(base_ + pointer.offset());
  }

  // Writes `value` to `place`. The transaction's own reads see the value at once, and other
  // transactions see it after the commit. If `place` is outside of the heap, or comes from a null
  // HeapPtr, the transaction ends with kInvalidArgument.
  template <HeapObject T>
  void write(T& place, const std::type_identity_t<T>& value) {
    write_bytes(&place, std::as_bytes(std::span(&value, 1)));
  }
  void write_bytes(void* place, std::span<const std::byte> bytes);

  // Conflicts with other transactions as a write of these bytes would, but does not change them.
  // Under HeapIsolation::kSnapshot, claim an object before you copy it elsewhere and free the
  // original; otherwise, concurrent writes to the original are lost. Under kSerializable, reading
  // the object is enough, and claim() does nothing.
  template <HeapObject T>
  void claim(const T& place) {
    claim_bytes(&place, sizeof(T));
  }
  void claim_bytes(const void* place, size_t bytes);

  // Allocates `count` objects filled with zero bytes. An allocation needs little space in the log,
  // whatever its size. If the transaction does not commit, the memory is freed.
  //   kMemoryLimit  HeapOptions::capacity_bytes is reached, or the size is above 8 TiB; the
  //                 transaction can no longer commit
  //   kIoError      the disk does not have enough space to enlarge the file; the message names the
  //                 file and the size
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
  // Frees the result of allocate() or make(), and claims it (see claim()). Null is ignored.
  //   kInvalidArgument  the pointer does not refer to an object, or refers to a root (use
  //                     remove_root() instead); the transaction can no longer commit
  template <class T>
  Status free(HeapPtr<T> pointer) {
    return free_bytes(pointer.offset());
  }

  // Returns the object of this name, or creates it, filled with zero bytes. Names have 1 to 255
  // bytes.
  //   kSchemaMismatch  the object has another type; the message names both
  template <HeapObject T>
  Result<HeapPtr<T>> root(std::string_view name) {
    uint64_t offset = 0;
    if (Status status = find_or_make_root(name, detail::heap_type_name<T>(), sizeof(T), &offset); !status.ok()) return status;
    return HeapPtr<T>::at(offset);
  }
  // Removes the name and frees the object, but not what it points to.
  //   kNotFound  the name does not exist
  Status remove_root(std::string_view name);

  // Returns the number of cache lines that the transaction has accessed, which is the size of an
  // equivalent hardware transaction (DUMBO, table 1). May throw std::bad_alloc. If the transaction
  // is a hardware transaction, it starts again in software.
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
  ~Heap();  // waits until all commits are durable, and replays the log; transactions must have ended

  // Opens the heap in the file `path`. If the file does not exist, creates a heap of `bytes` bytes
  // (at least 1 MiB), which grows as needed. If a crash left transactions in the log, they are
  // replayed first. Disk space for the whole file is reserved. If the disk does not have enough
  // space for an existing file, the heap is opened read-only: transactions return kIoError, and
  // HeapStatus::read_only_because contains the reason.
  //   kInvalidArgument  an option is invalid (the message names it), or the file is already open
  //   kCorrupt          the file is not a heap, or is damaged or truncated. The file is not
  //                     changed, except that the log is replayed if only the list of roots is
  //                     damaged. docs/heap.md ("How it works") lists the parts without a checksum
  //   kUnsupported      a newer program created the file, or the medium is not available
  //   kIoError          the file cannot be read or written, or the disk is too full for a new one
  //   kMemoryLimit      the process does not have enough memory or address space
  static Result<Heap> open(const std::string& path, uint64_t bytes, const HeapOptions& options = {});
  // Like open() above, but a new heap begins with 1 MiB.
  static Result<Heap> open(const std::string& path, const HeapOptions& options = {});
  bool is_open() const { return inside_ != nullptr; }

  // Runs procedure(HeapTransaction&), which returns a Status or nothing, and commits. After a
  // conflict, it runs the procedure again. After several conflicts, it runs the procedure alone. If
  // the procedure returns an error or throws, all its changes are rolled back.
  //   kProcedureThrew   the procedure threw; the message contains what()
  //   kMemoryLimit      the transaction allocates more than HeapOptions::capacity_bytes or writes
  //                     more than HeapOptions::log_bytes allows
  //   kInvalidArgument  the procedure wrote outside of the heap, or freed a root or something other
  //                     than an object; or transaction() was called within a procedure of this or
  //                     another heap
  //   kCorrupt          the allocator found damage; make a backup and run `elider heap check`
  //   kIoError          the file cannot be written. The heap is read-only from now on, and keeps
  //                     the state that is in memory. If the transaction was already waiting for the
  //                     disk, it has taken effect, but a crash may lose it
  // The exception by which pthread_cancel() ends a thread is rethrown.
  template <class F>
  Status transaction(F&& procedure) {
    return run([&](HeapTransaction& txn) -> Status { return as_status(procedure, txn); });
  }
  // Runs procedure(HeapReader&) once, on a single state that includes all transactions that ended
  // before this call. Commits wait until the procedure returns, so keep it short.
  //   kIoError  a transaction whose writes the procedure has read could not be made durable
  template <class F>
  Status read(F&& procedure) {
    return run_reader([&](HeapReader& reader) -> Status { return as_status(procedure, reader); });
  }

  // Waits until all commits are durable.
  //   kIoError          some commits may not be durable
  //   kInvalidArgument  called within a procedure
  Status persist();
  // Applies the changes in the log to the file, and then empties the log. The heap also does this
  // automatically.
  Status replay();
  HeapStatus status() const;

  // These functions inspect the file of a heap that is not open, without changing it.
  //   kCorrupt  the file is damaged; the message says what and where
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
