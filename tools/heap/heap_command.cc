// The commands `elider heap check` and `elider heap status`. They inspect the file of a durable
// heap (elider/heap.h) that is not open, and do not change the file.
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "elider/heap.h"
#include "tools/commands.h"
#include "tools/common/json.h"
#include "tools/data/data_commands.h"

namespace elider::tools {

namespace {

constexpr const char* kHeapExitCodes =
    "Exit code: 0 the heap is intact; 1 the file is damaged, not a heap, or cannot be read; 2 the command cannot run:\n"
    "the file does not exist, or a program has it open.";

struct HeapChosen {
  std::string file, json;
};

std::string size_of(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  const auto exact = static_cast<double>(bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} KB", exact / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", exact / 1e6);
  return fmt::format("{:.1f} GB", exact / 1e9);
}

void print(const HeapCheck& check) {
  fmt::print("in use     {} blocks, {}\n", check.blocks, size_of(check.block_bytes));
  fmt::print("free       {} blocks, {}\n", check.free_blocks, size_of(check.free_bytes));
  fmt::print("unused     {}, not divided into blocks yet\n", size_of(check.unused_bytes));
  fmt::print("lost       {}\n", size_of(check.lost_bytes));
  fmt::print("roots      {}\n", check.roots);
  fmt::print("pending    {} transactions in the log, included in the numbers above\n", check.pending);
  if (check.lost_bytes == 0) fmt::print("all is well\n");
}

Json json_of(const HeapCheck& check) {
  return {{"blocks", check.blocks},
          {"block_bytes", check.block_bytes},
          {"free_blocks", check.free_blocks},
          {"free_bytes", check.free_bytes},
          {"unused_bytes", check.unused_bytes},
          {"lost_bytes", check.lost_bytes},
          {"roots", check.roots},
          {"pending", check.pending}};
}

void print(const HeapStatus& status) {
  fmt::print("heap       {}, of which {} are allocated\n", size_of(status.heap_bytes), size_of(status.used_bytes));
  fmt::print("log        {}\n", size_of(status.log_bytes));
  fmt::print("written    up to transaction {}\n", status.last_number);
  fmt::print("replayed   up to transaction {}\n", status.replayed_number);
  fmt::print("pending    {} transactions in the log, to be replayed when the heap is opened\n", status.recovered);
  fmt::print("dropped    {} transactions that a crash cut off before they were durable\n", status.dropped);
  for (const HeapRoot& root : status.roots) fmt::print("root       '{}': {}, {}\n", root.name, root.type, size_of(root.bytes));
}

Json json_of(const HeapStatus& status) {
  Json roots = Json::array();
  for (const HeapRoot& root : status.roots) roots.push_back({{"name", root.name}, {"type", root.type}, {"bytes", root.bytes}});
  return {{"heap_bytes", status.heap_bytes}, {"used_bytes", status.used_bytes},           {"log_bytes", status.log_bytes},
          {"last_number", status.last_number}, {"replayed_number", status.replayed_number}, {"pending", status.recovered},
          {"dropped", status.dropped}, {"roots", roots}};
}

// Prints `found` as text or JSON.
template <class Found>
void show(const HeapChosen& chosen, const Found& found) {
  if (chosen.json.empty()) print(found);
  else static_cast<void>(finish(write_json(chosen.json, json_of(found))));
}

void run_check(const HeapChosen& chosen) {
  const Result<HeapCheck> checked = Heap::check(chosen.file);
  if (!finish(checked.status())) return;
  show(chosen, *checked);
  if (checked->lost_bytes != 0)
    static_cast<void>(finish(
        {Code::kCorrupt, fmt::format("'{}' is damaged: {} bytes are lost: neither in use nor free", chosen.file, checked->lost_bytes)}));
}

void run_status(const HeapChosen& chosen) {
  const Result<HeapStatus> status = Heap::status_of(chosen.file);
  if (finish(status.status())) show(chosen, *status);
}

void add(Command heap, const char* name, const char* words, const std::string& footer, void (*run)(const HeapChosen&)) {
  auto chosen = std::make_shared<HeapChosen>();
  Command command = heap.add(name, words);
  command.option("FILE", chosen->file, "The heap's file").required();
  add_json(command, chosen->json);
  command.footer(footer + "\n\n" + kHeapExitCodes);
  command.runs([chosen, run] { run(*chosen); });
}

}  // namespace

void add_heap(Command app) {
  Command heap = app.add("heap", "Inspect the file of a durable heap: check, status");
  add(heap, "check", "Check all blocks, free lists and roots of a heap that is not open, and report its contents",
      "  elider heap check book.heap\n"
      "  elider heap check book.heap --json -\n\n"
      "The check includes the transactions that are still in the log, and does not change the file.\n"
      "Each byte must be in use, free, or not yet divided into blocks; lost bytes mean damage.\n"
      "It counts objects but cannot check their contents, because it does not know their types.",
      run_check);
  add(heap, "status", "Print the sizes of a heap and its log, how many transactions opening it will replay, and its roots",
      "  elider heap status book.heap\n\n"
      "For an open heap, its program can call Heap::status(). For each root, this command prints the name, the type as the\n"
      "program's compiler recorded it, and the size of the object itself. It reads only the log and the roots.",
      run_status);
}

}  // namespace elider::tools
