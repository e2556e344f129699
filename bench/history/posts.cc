// The workload posts. A list is a row with room for 32 elements. Each element also has a row of its
// own, its post, and is counted in one of eight counters. Under Protocol::kChopped, some writers
// call a chopped procedure, whose core writes the list and whose tail inserts the post and adds to
// the counter. Other writers do the same in ordinary transactions.
//
// A checker sees the post as a separate list with one element. A reader that sees the element but
// not the post has seen half of a call. A reader reports a complaint if a counter is smaller than
// the list.
//
// With --deferring, the call's insertion of the post is deferred (docs/chopping.md), and there are
// two more procedures. Calls of the second procedure are subscribers: each looks for two posts that
// are about to appear, and appends to a note, which is another list. Calls of the third procedure
// append to lists like those of the first, but do not create a post. They may see what the cores of
// the first procedure's calls have written. In that case, they return only after the posts of those
// calls have been published.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "bench/history/hot_keys.h"
#include "bench/history/workload.h"
#include "elider/try.h"

namespace elider::bench {
namespace {

constexpr int64_t kPostLists = int64_t{1} << 62;  // in the history, posts are lists with numbers from here on
constexpr int64_t kNoteLists = int64_t{1} << 61;  // in the history, notes are lists with numbers from here on
constexpr int64_t kCounts = 8;

struct PostedRow {
  uint64_t count = 0;
  int64_t elements[kWritesPerKey] = {};
};
struct PostRow {
  int64_t list = 0, element = 0;
};
struct CountRow {
  uint64_t posts = 0;
};

class Posts : public Workload {
  enum WriteVariant : Variant { kInPieces, kAtOnce, kNote, kAppend };
  enum ReadVariant : Variant { kReadList, kReadNote };

 public:
  explicit Posts(const HistoryOptions& options) : options_(options), keys_(options.keys), note_keys_(2) {}

  Schema schema() const override { return lists().schema(); }

  Status create(Database& db) override {
    auto list = db.create_table(lists());
    if (!list.ok()) return list.status();
    lists_ = *list;
    auto post = db.create_table(
        SchemaOf<PostRow>("posts").key_index(options_.index).column("list", &PostRow::list).column("element", &PostRow::element));
    if (!post.ok()) return post.status();
    posts_ = *post;
    auto count = db.create_table(SchemaOf<CountRow>("counts").key_index(options_.index).column("posts", &CountRow::posts));
    if (!count.ok()) return count.status();
    counts_ = *count;
    auto note = db.create_table(
        SchemaOf<PostedRow>("notes").key_index(options_.index).column("count", &PostedRow::count).column("elements", &PostedRow::elements));
    if (!note.ok()) return note.status();
    notes_ = *note;
    return install(db);
  }

  // Each run adds its own counters to those of earlier runs.
  Status fill(Database& db) override {
    return db.run([&](Transaction& txn) -> Status {
      for (Key key = 0; key < kCounts; ++key) ELIDER_TRY(txn.insert(counts_, first_count_ + key, CountRow{}));
      return {};
    });
  }

  Status resume(Database& db, int64_t* values) override {
    int64_t last_list = -1, last_note = -1;
    std::string wrong;
    Status status = look_through(db, lists_, "list", &last_list, values, &wrong);
    if (status.ok()) status = look_through(db, notes_, "note", &last_note, values, &wrong);
    keys_.begin_at(last_list + 1);
    note_keys_.begin_at(last_note + 1);
    first_count_ = static_cast<Key>(last_list + 1 + kKeysAhead) * kCounts;
    return resumed(std::move(status), wrong);
  }

  void plan(Random& random, int64_t value, Plan* plan) override {
    if (!plan->read_only && random.below(2) == 0) {
      PlannedOperation operation;
      operation.kind = PlannedOperation::Kind::kWrite;
      operation.variant = options_.deferring && random.below(2) == 0   ? kNote
                          : options_.deferring && random.below(4) == 0 ? kAppend
                          : random.below(4) == 0                       ? kAtOnce
                                                                       : kInPieces;
      operation.key = operation.variant == kNote ? note_keys_.to_write(random) : keys_.to_write(random);
      operation.value = value;
      plan->operations.push_back(operation);
      if (operation.variant == kNote)
        for (uint32_t i = 0; i < kLooksOfANote; ++i) {
          operation.kind = PlannedOperation::Kind::kRead;
          operation.key = recent_[random.below(recent_.size())];
          plan->operations.push_back(operation);
        }
      else if (operation.variant != kAppend)
        recent_[random.below(recent_.size())] = value;
      return;
    }
    const uint64_t count = random.between(1, options_.operations);
    for (uint64_t i = 0; i < count; ++i) {
      PlannedOperation operation;
      operation.variant = options_.deferring && random.below(2) == 0 ? kReadNote : kReadList;
      operation.key = operation.last_key = operation.variant == kReadNote ? note_keys_.to_read(random) : keys_.to_read(random);
      plan->operations.push_back(operation);
    }
  }

  void invocation(const Plan& plan, MicroOps* operations) const override {
    if (plan.operations.front().kind == PlannedOperation::Kind::kWrite && plan.operations.front().variant == kNote) {
      for (uint32_t i = 1; i <= kLooksOfANote; ++i) operations->read_unknown(kPostLists + plan.operations[i].key);
      operations->append(kNoteLists + plan.operations.front().key, plan.operations.front().value);
      return;
    }
    for (const PlannedOperation& operation : plan.operations) {
      if (operation.kind == PlannedOperation::Kind::kRead) {
        operations->read_unknown(operation.variant == kReadNote ? kNoteLists + operation.key : operation.key);
        continue;
      }
      operations->append(operation.key, operation.value);
      if (operation.variant != kAppend) operations->append(kPostLists + operation.value, operation.value);
    }
  }

  Status execute(Transaction& txn, const Plan& plan, Yields& yields, Attempt* attempt) override {
    for (const PlannedOperation& operation : plan.operations) {
      yields.maybe();
      if (operation.kind == PlannedOperation::Kind::kRead) {
        ELIDER_TRY(operation.variant == kReadNote ? read_note(txn, operation.key, attempt) : read(txn, operation.key, yields, attempt));
        continue;
      }
      ELIDER_TRY(append(txn, lists_, operation));
      yields.maybe();
      ELIDER_TRY(post(txn, operation));
      ELIDER_TRY(count(txn, operation));
      did(operation, attempt);
    }
    return {};
  }

  bool in_pieces(const Plan& plan) const override {
    return plan.operations.front().kind == PlannedOperation::Kind::kWrite && plan.operations.front().variant != kAtOnce;
  }
  Status call(Database& db, const Plan& plan, Yields& yields, Attempt* attempt, const RunPolicy& policy) override {
    const auto run = [&](const auto& procedure, auto call) {
      Status status = db.call(procedure, call, policy);
      if (status.ok()) call.did(attempt);
      return status;
    };
    if (plan.operations.front().variant == kNote) return run(note_, NoteCall{&plan, &yields, {}, {}});
    if (plan.operations.front().variant == kAppend) return run(append_, AppendCall{&plan, &yields, {}});
    return run(procedure_, Call{&plan, &yields, {}});
  }
  std::unique_ptr<PreparedCall> prepare(const Plan& plan, Yields& yields, std::function<void()> begins) override {
    if (plan.operations.front().variant == kNote)
      return std::make_unique<Prepared<NoteCall>>(note_, NoteCall{&plan, &yields, std::move(begins), {}});
    if (plan.operations.front().variant == kAppend)
      return std::make_unique<Prepared<AppendCall>>(append_, AppendCall{&plan, &yields, std::move(begins)});
    return std::make_unique<Prepared<Call>>(procedure_, Call{&plan, &yields, std::move(begins)});
  }

 private:
  static constexpr int64_t kKeysAhead = 1 << 16;  // the number of keys that a run may have drawn without writing them
  struct Call {
    const Plan* plan;
    Yields* yields;
    std::function<void()> begins;  // may be null
    const PlannedOperation& operation() const { return plan->operations.front(); }
    void did(Attempt* attempt) const { Posts::did(operation(), attempt); }
  };
  struct AppendCall {
    const Plan* plan;
    Yields* yields;
    std::function<void()> begins;
    const PlannedOperation& operation() const { return plan->operations.front(); }
    void did(Attempt* attempt) const { attempt->did.append(operation().key, operation().value); }
  };
  static constexpr uint32_t kLooksOfANote = 2;
  struct NoteCall {
    const Plan* plan;
    Yields* yields;
    std::function<void()> begins;
    std::array<bool, kLooksOfANote> found;
    void did(Attempt* attempt) const {
      for (uint32_t i = 0; i < kLooksOfANote; ++i)
        attempt->did.read_list(kPostLists + plan->operations[i + 1].key,
                               found[i] ? std::vector<int64_t>{plan->operations[i + 1].key} : std::vector<int64_t>{});
      attempt->did.append(kNoteLists + plan->operations.front().key, plan->operations.front().value);
    }
  };
  SchemaOf<PostedRow> lists() const {
    return SchemaOf<PostedRow>("lists")
        .key_index(options_.index)
        .column("count", &PostedRow::count)
        .column("elements", &PostedRow::elements);
  }

  // Operations write lists by Transaction::put, because a list may not exist yet.
  Status install(Database& db) {
    using chopping::Operation;
    Procedures procedures;
    const auto append_to_list = [this](Transaction& txn, auto& call) -> Status {
      if (call.begins) call.begins();
      call.yields->maybe();
      ELIDER_TRY(append(txn, lists_, call.operation()));
      call.yields->maybe();
      return call.plan->roll_back ? Status::rollback() : Status();
    };
    const auto add_to_count = [this](Transaction& txn, auto& call) -> Status {
      call.yields->maybe();
      return count(txn, call.operation());
    };
    procedure_ = procedures.add(
        Procedure<Call>("post")
            .touch([this](const Call& call, Touches& touches) { touches.row(lists_, static_cast<Key>(call.operation().key)); })
            .operation(Operation("list").inserts("lists").writes("lists").rolls_back(), append_to_list)
            .operation(options_.deferring ? Operation("post").inserts("posts").fresh().needs({"list"}).defers()
                                          : Operation("post").inserts("posts").fresh().needs({"list"}),
                       [this](Transaction& txn, Call& call) -> Status {
                         call.yields->maybe();
                         return post(txn, call.operation());
                       })
            .operation(Operation("count").adds("counts", {"posts"}).needs({"list"}), add_to_count));
    if (options_.deferring)
      append_ = procedures.add(Procedure<AppendCall>("append")
                                   .operation(Operation("list").inserts("lists").writes("lists").rolls_back(), append_to_list)
                                   .operation(Operation("count").adds("counts", {"posts"}).needs({"list"}), add_to_count));
    if (options_.deferring)
      note_ = procedures.add(Procedure<NoteCall>("note")
                                 .operation(Operation("look").reads("posts"),
                                            [this](Transaction& txn, NoteCall& call) -> Status {
                                              if (call.begins) call.begins();
                                              for (uint32_t i = 0; i < kLooksOfANote; ++i) {
                                                call.yields->maybe();
                                                View<PostRow> post;
                                                ELIDER_TRY(find(txn, posts_, static_cast<Key>(call.plan->operations[i + 1].key), &post));
                                                call.found[i] = static_cast<bool>(post);
                                              }
                                              return {};
                                            })
                                 .operation(Operation("note").inserts("notes").writes("notes").needs({"look"}).rolls_back(),
                                            [this](Transaction& txn, NoteCall& call) -> Status {
                                              call.yields->maybe();
                                              ELIDER_TRY(append(txn, notes_, call.plan->operations.front()));
                                              return call.plan->roll_back ? Status::rollback() : Status();
                                            }));
    InstallOptions options;
    options.always_in_pieces = db.sync() != SyncPolicy::kElided;  // under kElided, calls should run as hardware transactions
    options.choices.deferring = options_.deferring;
    options.answers_at_once = options_.answers_at_once;
    return db.install(std::move(procedures), options);
  }

  // Looks up the lists one key at a time, because a hash table cannot be scanned.
  static Status look_through(Database& db, const Table<PostedRow>& table, const std::string& what, int64_t* last, int64_t* values,
                             std::string* wrong) {
    return db.run_read_only([&](Transaction& txn) -> Status {
      for (int64_t misses = 0, key = 0; misses < kKeysAhead; ++key, ++misses) {
        View<PostedRow> list;
        ELIDER_TRY(find(txn, table, static_cast<Key>(key), &list));
        if (!list) continue;
        misses = -1;
        *last = key;
        if (list->count > kWritesPerKey) *wrong = what + " " + std::to_string(key) + " in this state";
        for (uint64_t i = 0; i < std::min<uint64_t>(list->count, kWritesPerKey); ++i)
          *values = std::max(*values, value_number(list->elements[i]));
      }
      return {};
    });
  }

  static Status append(Transaction& txn, const Table<PostedRow>& table, const PlannedOperation& operation) {
    View<PostedRow> view;
    ELIDER_TRY(find(txn, table, static_cast<Key>(operation.key), &view));
    PostedRow row;
    if (view) row = *view;
    if (row.count >= kWritesPerKey)
      return Status::invalid_argument("list " + std::to_string(operation.key) + " has more elements than were appended");
    row.elements[row.count++] = operation.value;
    return txn.put(table, static_cast<Key>(operation.key), row);
  }
  Status post(Transaction& txn, const PlannedOperation& operation) const {
    return txn.insert(posts_, static_cast<Key>(operation.value), PostRow{operation.key, operation.value});
  }
  Status count(Transaction& txn, const PlannedOperation& operation) const {
    return txn.add(counts_, count_of(operation.key), &CountRow::posts, 1);
  }
  Key count_of(int64_t list) const { return first_count_ + static_cast<Key>(list % kCounts); }
  static void did(const PlannedOperation& operation, Attempt* attempt) {
    attempt->did.append(operation.key, operation.value);
    attempt->did.append(kPostLists + operation.value, operation.value);
  }

  Status read_note(Transaction& txn, int64_t key, Attempt* attempt) const {
    View<PostedRow> note;
    ELIDER_TRY(find(txn, notes_, static_cast<Key>(key), &note));
    attempt->did.read_list(kNoteLists + key,
                           note ? std::vector<int64_t>(note->elements, note->elements + note->count) : std::vector<int64_t>{});
    return {};
  }

  // Reads the list, its last post and its counter.
  Status read(Transaction& txn, int64_t key, Yields& yields, Attempt* attempt) const {
    View<PostedRow> list;
    ELIDER_TRY(find(txn, lists_, static_cast<Key>(key), &list));
    std::vector<int64_t> elements;
    if (list) elements.assign(list->elements, list->elements + std::min<uint64_t>(list->count, kWritesPerKey));
    attempt->did.read_list(key, elements);
    if (elements.empty()) return {};
    yields.maybe();
    View<PostRow> post;
    ELIDER_TRY(find(txn, posts_, static_cast<Key>(elements.back()), &post));
    attempt->did.read_list(kPostLists + elements.back(), post ? std::vector<int64_t>{post->element} : std::vector<int64_t>{});
    auto count = txn.get(counts_, count_of(key));
    if (!count.ok()) return count.status();
    if ((*count)->posts < elements.size())
      attempt->complaint = "list " + std::to_string(key) + " has " + std::to_string(elements.size()) + " elements, but only " +
                           std::to_string((*count)->posts) + " were counted";
    return {};
  }

  const HistoryOptions& options_;
  HotKeys keys_, note_keys_;
  std::array<std::atomic<int64_t>, 8> recent_{};  // values that calls are about to post or have posted
  Key first_count_ = 0;
  Table<PostedRow> lists_;
  Table<PostRow> posts_;
  Table<CountRow> counts_;
  Table<PostedRow> notes_;
  ProcedureHandle<Call> procedure_;
  ProcedureHandle<NoteCall> note_;
  ProcedureHandle<AppendCall> append_;
};

}  // namespace

std::unique_ptr<Workload> make_posts(const HistoryOptions& options) { return std::make_unique<Posts>(options); }

}  // namespace elider::bench
