#include "bench/history/elle_record.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <tuple>

#include <fmt/format.h>

namespace elider::bench {
namespace {

struct Placed {
  const ElleSession* session;
  const ElleSession::Event* event;
  size_t process;
};

const char* name_of(EventType type) {
  switch (type) {
    case EventType::kInvoke: return "invoke";
    case EventType::kOk: return "ok";
    case EventType::kFail: return "fail";
    case EventType::kInfo: return "info";
  }
  return "?";
}

void write_operations(std::string& out, std::span<const int64_t> words) {
  out.push_back('[');
  for (size_t i = 0; i < words.size();) {
    const auto kind = static_cast<MicroOps::Kind>(words[i]);
    const int64_t key = words[i + 1];
    if (i != 0) out.push_back(',');
    switch (kind) {
      case MicroOps::Kind::kAppend:
      case MicroOps::Kind::kWrite:
        out += fmt::format(R"(["{}",{},{}])", kind == MicroOps::Kind::kAppend ? "append" : "w", key, words[i + 2]);
        i += 3;
        break;
      case MicroOps::Kind::kReadList: {
        const auto values = words.subspan(i + 3, static_cast<size_t>(words[i + 2]));
        out += fmt::format(R"(["r",{},[{}]])", key, fmt::join(values, ","));
        i += 3 + values.size();
        break;
      }
      case MicroOps::Kind::kReadValue:
        out += fmt::format(R"(["r",{},{}])", key, words[i + 2]);
        i += 3;
        break;
      case MicroOps::Kind::kReadNull:
        out += fmt::format(R"(["r",{},null])", key);
        i += 2;
        break;
    }
  }
  out.push_back(']');
}

// A file that is written in parts. close() reports the first write that failed.
class OutFile {
 public:
  explicit OutFile(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "w")), error_(file_ ? 0 : errno) {}
  ~OutFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  OutFile(const OutFile&) = delete;
  OutFile& operator=(const OutFile&) = delete;

  void write(const std::string& text) {
    if (file_ != nullptr && std::fwrite(text.data(), 1, text.size(), file_) != text.size() && error_ == 0) error_ = errno;
  }
  Status close() {
    if (file_ != nullptr && std::fclose(file_) != 0 && error_ == 0) error_ = errno;
    file_ = nullptr;
    if (error_ == 0) return {};
    return Status::invalid_argument(fmt::format("the history file '{}' is incomplete: {}", path_, std::strerror(error_)));
  }

 private:
  std::string path_;
  std::FILE* file_;
  int error_;
};

Status write_ranks(const std::string& path, std::vector<const ElleSession::Event*> committed) {
  std::sort(committed.begin(), committed.end(), [](const ElleSession::Event* a, const ElleSession::Event* b) {
    const auto key = [](const ElleSession::Event* e) { return std::tuple(e->rank.snapshot, e->rank.read_only, e->rank.order, e->index); };
    return key(a) < key(b);
  });
  OutFile file(path);
  std::string text;
  for (size_t rank = 0; rank < committed.size(); ++rank) {
    text.clear();
    text += fmt::format("{}\"{}\":{}", rank == 0 ? "{" : ",\n", committed[rank]->index, rank);
    file.write(text);
  }
  text.clear();
  text += committed.empty() ? "{}\n" : "}\n";
  file.write(text);
  return file.close();
}

}  // namespace

void MicroOps::read_list(int64_t key, std::span<const int64_t> values) {
  put({static_cast<int64_t>(Kind::kReadList), key, static_cast<int64_t>(values.size())});
  words_.insert(words_.end(), values.begin(), values.end());
}

void MicroOps::read_value(int64_t key, std::optional<int64_t> value) {
  if (value) put({static_cast<int64_t>(Kind::kReadValue), key, *value});
  else read_unknown(key);
}

std::string json_of(std::span<const int64_t> words) {
  std::string out;
  write_operations(out, words);
  return out;
}

void ElleSession::record(uint64_t index, uint64_t time_ns, EventType type, const MicroOps& operations, const CommitRank& rank) {
  const auto words = operations.words();
  events_.push_back({index, time_ns, words_.size(), static_cast<uint32_t>(words.size()), type, rank});
  words_.insert(words_.end(), words.begin(), words.end());
}

Status write_elle(const std::string& path, const std::vector<std::unique_ptr<ElleSession>>& sessions, bool with_ranks) {
  std::vector<Placed> placed;
  std::vector<const ElleSession::Event*> committed;
  for (size_t process = 0; process < sessions.size(); ++process) {
    for (const ElleSession::Event& event : sessions[process]->events()) {
      placed.push_back({sessions[process].get(), &event, process});
      if (event.rank.known) committed.push_back(&event);
    }
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) { return a.event->index < b.event->index; });
  OutFile file(path);
  std::string line;
  for (const Placed& place : placed) {
    line.clear();
    line += fmt::format(R"({{"index":{},"type":"{}","process":{},"time":{},"value":)", place.event->index,
                   name_of(place.event->type), place.process, place.event->time_ns);
    write_operations(line, place.session->words(*place.event));
    line.push_back('}');
    line.push_back('\n');
    file.write(line);
  }
  if (Status status = file.close(); !status.ok()) return status;
  return with_ranks ? write_ranks(path + ".ranks", std::move(committed)) : Status();
}

}  // namespace elider::bench
