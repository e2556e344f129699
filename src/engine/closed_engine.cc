// The engine of a database that is closed. Every call that returns a status fails with kFinished.
// All closed databases share this engine, so it does not have any state.
#include "engine/engine.h"

namespace elider::detail {

namespace {

class ClosedEngine final : public Engine {
 public:
  Status prefault(uint64_t) override { return refuse_closed(); }
  Status run(FunctionRef<Status(Transaction&)>, const RunPolicy&, bool) override { return refuse_closed(); }
  Status run_group(const GroupCalls& calls, const GroupPolicy&) override {
    for (Status& outcome : calls.outcomes) outcome = refuse_closed();
    return refuse_closed();
  }
  Status call_in_pieces(const txn::ExecutableProcedure&, void*, const RunPolicy&) override { return refuse_closed(); }
  Status begin(BeginHow, std::shared_ptr<const SnapshotHold>, EngineWorker**, Transaction**) override { return refuse_closed(); }
  Status hold_snapshot(WhenHalfDone, std::shared_ptr<const SnapshotHold>*) override { return refuse_closed(); }
  bool is_closed(SnapshotNumber) const override { return true; }
  Status hold_of(const HeldSnapshot&, bool, std::shared_ptr<const SnapshotHold>*) const override { return refuse_closed(); }

  Result<TableRef> create_table(const Schema&) override { return refuse_closed(); }
  Status change_table(std::string_view, FunctionRef<Result<Schema>(const Schema&)>) override { return refuse_closed(); }
  Status create_index(std::string_view, const SecondaryIndex&, const CreateIndexOptions&) override { return refuse_closed(); }
  Status drop_index(std::string_view, std::string_view) override { return refuse_closed(); }
  Result<TableBase*> begin_drop(std::string_view) override { return refuse_closed(); }
  Status end_drop(TableBase&, uint64_t) override { return refuse_closed(); }
  TableBase* find_table(std::string_view) const override { return nullptr; }
  std::vector<TableRef> tables() const override { return {}; }

  Status open_data(const recovery::OpenHow&, bool*) override { return refuse_closed(); }
  Status wait_durable(SnapshotNumber) override { return refuse_closed(); }
  void when_durable(SnapshotNumber, std::function<void(const Status&)> told) override { told(refuse_closed()); }
  const Recovery& recovery() const override { return nothing_recovered_; }
  Status checkpoint() override { return refuse_closed(); }
  Status backup(const std::string&) override { return refuse_closed(); }

  uint64_t database_id() const override { return 0; }
  uint32_t procedure_id(std::string_view) override { return 0; }
  SyncPolicy sync() const override { return SyncPolicy::kAutomatic; }
  HtmBackend htm() const override { return HtmBackend::kNone; }
  const ElisionPolicy* elision() const override { return nullptr; }
  Protocol protocol() const override { return Protocol::kOcc; }
  bool can_promise(Durability) const override { return false; }
  Statistics statistics() const override { return {}; }
  void collect_garbage() override {}
  bool in_child() const override { return false; }
  void abandon() override {}
  Status verify() override { return refuse_closed(); }

 private:
  const Recovery nothing_recovered_;
};

}  // namespace

Engine* closed_engine() {
  static Engine* const instance = new ClosedEngine;  // never destroyed, because destructors of static objects may use it
  return instance;
}

Status refuse_closed() { return Status(Code::kFinished, "the database is closed: it was never opened, or it has been moved from"); }

}  // namespace elider::detail
