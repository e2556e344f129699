#include "bench/tpcc/terminal.h"

#include <algorithm>
#include <utility>

namespace elider::bench::tpcc {

namespace {

std::string failed(Kind kind, const Status& status) { return std::string(name_of(kind)) + ": " + status.message(); }

}  // namespace

Terminal::Terminal(Database& db, const Tables& tables, const Workload& workload, SnapshotUse snapshots, uint32_t thread, uint32_t group,
                   Sequence* history_ids, const ChoppedTransactions* chopped, uint32_t durable_sample_every)
    : db_(db),
      tables_(tables),
      snapshots_(snapshots),
      group_(group),
      partitioned_(db.protocol() == Protocol::kPartitioned),
      history_ids_(history_ids),
      chopped_(chopped),
      inputs_(workload, thread),
      samples_(db, durable_sample_every),
      calls_(std::max(group, 1u)),
      outcomes_(group) {
  for (size_t i = 0; i < group; ++i) whole_.push_back(i);
  for (uint32_t kind = 0; kind < kKinds; ++kind) policies_[kind].procedure_id = db.procedure_id(name_of(static_cast<Kind>(kind)));
}

uint32_t Terminal::run_one() {
  const Kind kind = inputs_.kind();
  const Status status = run(kind);
  if (status.ok()) [[likely]] return static_cast<uint32_t>(kind);
  failure_ = failed(kind, status);
  return kWorkerFailed;
}

Status Terminal::run(Kind kind) {
  Call& call = calls_[0];
  if (Status status = draw(kind, &call); !status.ok()) [[unlikely]] return status;
  const auto procedure = [&](Transaction& txn) { return perform(txn, call); };
  RunPolicy& policy = policies_[static_cast<size_t>(kind)];
  if (partitioned_) policy.partitions = partitions_of(call);
  policy.commit_number = samples_.begin();
  Status status;
  if (chopped_ != nullptr && kind != Kind::kOrderStatus && kind != Kind::kStockLevel) status = run_in_pieces(call, policy);
  else if (on_snapshot(kind)) policy.snapshot = snapshot(), status = db_.run_read_only(procedure, policy);
  else status = db_.run(procedure, policy);
  if (policy.commit_number != nullptr && status.ok()) samples_.committed();
  return count(call, std::move(status));
}

template <class Use>
auto Terminal::in_pieces(Call& call, Use&& use) {
  if (const auto* input = std::get_if<NewOrderInput>(&call.input))
    return use(chopped_->new_order, NewOrderCall{input, &new_order_output_});
  if (const auto* input = std::get_if<PaymentInput>(&call.input))
    return use(chopped_->payment, PaymentCall{input, &payment_output_, &scratch_});
  return use(chopped_->delivery, DeliveryCall{std::get_if<DeliveryInput>(&call.input), &call.delivered});
}

Status Terminal::run_in_pieces(Call& call, const RunPolicy& policy) {
  return in_pieces(call, [&](const auto& procedure, auto its) { return db_.call(procedure, its, policy); });
}

bool Terminal::run_group(GroupTimes& times) {
  for (Call& call : calls_) {
    const Kind kind = inputs_.kind();
    if (const Status status = draw(kind, &call); !status.ok()) [[unlikely]] return failure_ = failed(kind, status), false;
  }
  GroupPolicy policy;
  policy.size = group_;
  policy.commit_number = samples_.begin();
  policy.snapshot = snapshot();
  times.begin(calls_.size());
  if (chopped_ != nullptr) run_group_in_pieces(policy, times);
  else run_group_whole(whole_, 0, policy, times);
  times.end();
  if (policy.commit_number != nullptr) samples_.committed();
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Kind kind = calls_[i].kind();
    times.types[i] = static_cast<uint32_t>(kind);
    if (const Status status = count(calls_[i], std::move(outcomes_[i])); !status.ok()) [[unlikely]]
      return failure_ = failed(kind, status), false;
  }
  return true;
}

void Terminal::run_group_whole(const std::vector<size_t>& which, size_t place, const GroupPolicy& policy, GroupTimes& times) {
  // The returned status is ignored, because the outcomes contain all errors.
  part_outcomes_.resize(which.size());
  static_cast<void>(db_.run_group(
      which.size(),
      [&](size_t i, Touches& touches) {
        const Call& call = calls_[which[i]];
        const Kind kind = call.kind();
        touches.procedure_id(policies_[static_cast<size_t>(kind)].procedure_id);
        touches.read_only(on_snapshot(kind));
        if (partitioned_)
          for (const uint32_t partition : partitions_of(call)) touches.partition(partition);
        std::visit([&](const auto& input) { touch(touches, tables_, input); }, call.input);
      },
      [&](size_t i, Transaction& txn) {
        times.runs(place + i);
        return perform(txn, calls_[which[i]]);
      },
      part_outcomes_, policy));
  for (size_t i = 0; i < which.size(); ++i) outcomes_[which[i]] = std::move(part_outcomes_[i]);
}

void Terminal::run_group_in_pieces(const GroupPolicy& policy, GroupTimes& times) {
  in_pieces_.clear(), whole_.clear(), pieces_.clear(), chopped_calls_.clear();
  pieces_.reserve(calls_.size());  // pointers to the calls must stay valid
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Kind kind = calls_[i].kind();
    (kind == Kind::kOrderStatus || kind == Kind::kStockLevel ? whole_ : in_pieces_).push_back(i);
  }
  for (size_t place = 0; place < in_pieces_.size(); ++place)
    in_pieces(calls_[in_pieces_[place]], [&]<class Its>(const auto& procedure, Its its) {
      its.in_group = {&times, place, policies_[static_cast<size_t>(calls_[in_pieces_[place]].kind())].procedure_id};
      chopped_calls_.emplace_back(procedure, std::get<Its>(pieces_.emplace_back(std::move(its))));
    });
  // The returned status is ignored, because the outcomes contain all errors.
  part_outcomes_.resize(in_pieces_.size());
  static_cast<void>(db_.call_group(chopped_calls_, part_outcomes_, policy));
  for (size_t i = 0; i < in_pieces_.size(); ++i) outcomes_[in_pieces_[i]] = std::move(part_outcomes_[i]);
  if (whole_.empty()) return;
  GroupPolicy of_whole = policy;
  if (!in_pieces_.empty()) of_whole.commit_number = nullptr;  // these calls are read-only
  run_group_whole(whole_, in_pieces_.size(), of_whole, times);
}

Status Terminal::draw(Kind kind, Call* call) {
  const uint32_t warehouse = inputs_.home_warehouse();
  switch (kind) {
    case Kind::kNewOrder: inputs_.draw(warehouse, &call->input.emplace<NewOrderInput>()); break;
    case Kind::kPayment: {
      auto& input = call->input.emplace<PaymentInput>();
      inputs_.draw(warehouse, &input);
      if (history_ids_ == nullptr) break;
      auto number = history_ids_->next();
      if (!number.ok()) return number.status();
      inputs_.number_history(*number, &input);
      break;
    }
    case Kind::kOrderStatus: inputs_.draw(warehouse, &call->input.emplace<OrderStatusInput>()); break;
    case Kind::kDelivery: inputs_.draw(warehouse, &call->input.emplace<DeliveryInput>()); break;
    case Kind::kStockLevel: inputs_.draw(warehouse, &call->input.emplace<StockLevelInput>()); break;
  }
  return {};
}

std::span<const uint32_t> Terminal::partitions_of(const Call& call) {
  partitions_.clear();
  const auto use = [&](uint32_t warehouse) { partitions_.push_back(warehouse - 1); };
  std::visit(
      [&](const auto& input) {
        if constexpr (requires { input.warehouse; }) use(input.warehouse);
        if constexpr (requires { input.customer.warehouse; }) use(input.customer.warehouse);
        if constexpr (requires { input.lines; })
          for (uint32_t i = 0; i < input.line_count; ++i) use(input.lines[i].supply_warehouse);
      },
      call.input);
  return partitions_;
}

Status Terminal::perform(Transaction& txn, Call& call) {
  switch (call.kind()) {
    case Kind::kNewOrder: return new_order(txn, tables_, *std::get_if<NewOrderInput>(&call.input), &new_order_output_);
    case Kind::kPayment: return payment(txn, tables_, *std::get_if<PaymentInput>(&call.input), scratch_, &payment_output_);
    case Kind::kOrderStatus:
      return order_status(txn, tables_, *std::get_if<OrderStatusInput>(&call.input), scratch_, &order_status_output_);
    case Kind::kDelivery: return delivery(txn, tables_, *std::get_if<DeliveryInput>(&call.input), &call.delivered);
    case Kind::kStockLevel: return stock_level(txn, tables_, *std::get_if<StockLevelInput>(&call.input), &stock_level_output_);
  }
  return {};
}

bool Terminal::on_snapshot(Kind kind) const {
  return (kind == Kind::kOrderStatus && snapshots_.order_status) || (kind == Kind::kStockLevel && snapshots_.stock_level);
}

const HeldSnapshot* Terminal::snapshot() {
  if (!snapshots_.held) return nullptr;
  if (held_) {
    held_.advance();
  } else {
    auto held = db_.hold_snapshot();
    if (!held.ok()) return nullptr;
    held_ = std::move(*held);
  }
  return &held_;
}

Status Terminal::count(const Call& call, Status status) {
  const Kind kind = call.kind();
  if (kind == Kind::kNewOrder && status.code() == Code::kRolledBack) {
    ++counts_.rolled_back;
    return {};
  }
  if (!status.ok()) return status;
  counts_.new_orders += kind == Kind::kNewOrder;
  counts_.payments += kind == Kind::kPayment;
  if (kind == Kind::kDelivery)
    for (const uint32_t order : call.delivered.order) ++(order != 0 ? counts_.delivered : counts_.skipped);
  return status;
}

}  // namespace elider::bench::tpcc
