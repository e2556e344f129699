#include "tools/rows/record_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/rows/status_words.h"
#include "tools/rows/values.h"

namespace elider::tools {

namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kRecordBytesMax = 64 << 20;  // more than the longest row in any form

}  // namespace

// -- files ----------------------------------------------------------------------------------------

InputFile::~InputFile() {
  if (file_ > STDIN_FILENO) ::close(file_);
}

Status InputFile::open(const std::string& path) {
  if (path == "-") {
    file_ = STDIN_FILENO;
    name_ = "standard input";
    return {};
  }
  name_ = "'" + shown(path) + "'";
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file_ < 0 || ::fstat(file_, &about) != 0)
    return Status(errno == ENOENT ? Code::kNotFound : Code::kIoError, fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  if (S_ISDIR(about.st_mode)) return Status::invalid_argument(name_ + " is a folder, not a file");
  if (S_ISREG(about.st_mode)) bytes_ = static_cast<uint64_t>(about.st_size);
  return {};
}

bool InputFile::more() {
  if (!status_.ok()) return false;
  if (size() > kRecordBytesMax) {
    status_ = Status::invalid_argument(fmt::format("{}: a record is longer than {} MiB", name_, kRecordBytesMax >> 20));
    return false;
  }
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t old = buffer_.size(), room = std::max(kReadBytes, old);
  buffer_.resize(old + room);
  ssize_t read;
  do read = ::read(file_, buffer_.data() + old, room);
  while (read < 0 && errno == EINTR);
  buffer_.resize(old + static_cast<size_t>(std::max<ssize_t>(read, 0)));
  if (read < 0) status_ = Status(Code::kIoError, fmt::format("cannot read {}: {}", name_, std::strerror(errno)));
  return read > 0;
}

// -- JSON -----------------------------------------------------------------------------------------

// Receives the parser's events. Records the members of the outermost object, and skips the values
// within them.
class JsonObject::Handler {
 public:
  Handler(JsonObject& object, const rapidjson::MemoryStream& stream, std::string_view text)
      : object_(object), stream_(stream), text_(text) {}

  bool Null() { return add(Cell::Kind::kNull, {}); }
  bool Bool(bool value) { return add(Cell::Kind::kBool, value ? "true" : "false"); }
  bool RawNumber(const char* digits, unsigned size, bool) { return add(Cell::Kind::kNumber, {digits, size}); }
  bool String(const char* text, unsigned size, bool) { return add(Cell::Kind::kText, {text, size}); }
  bool StartObject() { return ++depth_ == 1 || begin_nested(); }
  bool StartArray() { return ++depth_ != 1 && begin_nested(); }
  bool EndObject(unsigned) { return --depth_ != 1 || end_nested(); }
  bool EndArray(unsigned) { return --depth_ != 1 || end_nested(); }
  bool Key(const char* name, unsigned size, bool) {
    if (depth_ != 1) return true;
    object_.places_.push_back({object_.decoded_.size(), size, 0, 0, 0, 0, Cell::Kind::kAbsent});
    object_.decoded_.append(name, size);
    key_end_ = stream_.Tell();
    return true;
  }
  // The parser does not call these functions, because it passes numbers as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

 private:
  bool add(Cell::Kind kind, std::string_view text) {
    if (depth_ > 1) return true;
    if (depth_ == 0) return false;
    Place& place = object_.places_.back();
    place.kind = kind;
    place.text = object_.decoded_.size();
    place.text_size = text.size();
    object_.decoded_ += text;
    place.json = text_.find_first_not_of(" \t\r\n", text_.find(':', key_end_) + 1);
    place.json_size = stream_.Tell() - place.json;
    return true;
  }
  bool begin_nested() {
    if (depth_ == 2) object_.places_.back().json = stream_.Tell();  // the parser takes the bracket after this call
    return true;
  }
  bool end_nested() {
    Place& place = object_.places_.back();
    place.kind = Cell::Kind::kNested;
    place.json_size = stream_.Tell() + 1 - place.json;
    return true;
  }

  JsonObject& object_;
  const rapidjson::MemoryStream& stream_;
  const std::string_view text_;
  size_t depth_ = 0, key_end_ = 0;
};

Status JsonObject::parse(std::string_view text) {
  decoded_.clear();
  places_.clear();
  members_.clear();
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  Handler handler(*this, stream, text);
  constexpr unsigned kFlags =
      rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (result.IsError() && result.Code() != rapidjson::kParseErrorTermination)
    return Status::invalid_argument(fmt::format("column {}: {}", result.Offset() + 1, rapidjson::GetParseError_En(result.Code())));
  if (result.IsError() || stream.Tell() != text.size()) return Status::invalid_argument("not a JSON object");
  for (const Place& place : places_) {
    Cell cell{place.kind, std::string_view(decoded_).substr(place.text, place.text_size), text.substr(place.json, place.json_size)};
    if (cell.kind == Cell::Kind::kNested) cell.text = cell.json;
    members_.push_back({std::string_view(decoded_).substr(place.name, place.name_size), cell});
  }
  return {};
}

Cell JsonObject::find(std::string_view name) const {
  for (const Member& member : members_)
    if (member.name == name) return member.cell;
  return {};
}

// -- records --------------------------------------------------------------------------------------

namespace {

class CsvReader : public RecordReader {
 public:
  Status open(const std::string& path) {
    if (Status status = file_.open(path); !status.ok()) return status;
    while (file_.size() < 3 && file_.more()) {
    }
    if (file_.size() >= 3 && std::memcmp(file_.data(), "\xef\xbb\xbf", 3) == 0) file_.consume(3);
    const Result<bool> heading = read_fields();
    if (!heading.ok()) return heading.status();
    if (!*heading) return refuse(1, "the file is empty; its first line must contain the names of the columns");
    for (const Cell& cell : cells_) {
      if (std::find(names_.begin(), names_.end(), cell.text) != names_.end())
        return refuse(1, fmt::format("the heading has the column '{}' twice", shown(cell.text)));
      names_.emplace_back(cell.text);
    }
    return {};
  }

  Result<bool> next() override {
    for (;;) {
      const Result<bool> found = read_fields();
      if (!found.ok() || !*found) return found;
      const bool blank = cells_.size() == 1 && cells_[0].kind == Cell::Kind::kNull && names_.size() != 1;
      if (blank) continue;
      if (cells_.size() == names_.size()) return true;
      return refuse(record_line_, fmt::format("{} fields instead of {}", cells_.size(), names_.size()));
    }
  }

 private:
  struct Place {
    size_t begin, size;
    bool quoted;
  };

  // Returns the byte at this offset from the beginning of the record, or -1 at the end of the file.
  int at(size_t offset) {
    if (offset < file_.size() || file_.more()) [[likely]] return static_cast<unsigned char>(file_.data()[offset]);
    return -1;
  }

  Result<bool> read_fields() {
    file_.consume(consumed_later_);
    places_.clear();
    cells_.clear();
    record_line_ = line_;
    size_t end = 0;
    if (consumed_later_ = 0; at(0) < 0) return file_.status().ok() ? Result<bool>(false) : Result<bool>(file_.status());
    for (bool last = false; !last;) {
      const bool quoted = at(end) == '"';
      if (quoted) {
        if (Status status = read_quoted(&end); !status.ok()) return status;
      } else {
        read_plain(&end);
      }
      int c = at(end);
      if (c == '\r' && quoted && at(end + 1) == '\n') c = at(++end);
      if (c >= 0 && c != ',' && c != '\n')
        return refuse(line_, fmt::format("field {}: text follows the closing quotation mark", places_.size()));
      last = c != ',';
      if (c == '\n') ++line_;
      if (c >= 0) ++end;
    }
    if (!file_.status().ok()) return file_.status();
    for (const Place& place : places_)
      cells_.push_back(
          {place.quoted || place.size != 0 ? Cell::Kind::kText : Cell::Kind::kNull, {file_.data() + place.begin, place.size}, {}});
    consumed_later_ = end;  // the cells refer to the record until the next call
    return true;
  }
  void read_plain(size_t* end) {
    const size_t begin = *end;
    int c;
    while ((c = at(*end)) >= 0 && c != ',' && c != '\n') ++*end;
    const bool crlf = c == '\n' && *end > begin && file_.data()[*end - 1] == '\r';
    places_.push_back({begin, *end - begin - (crlf ? 1 : 0), false});
  }
  // Moves the contents of the field together, so that doubled quotation marks become one.
  Status read_quoted(size_t* end) {
    const uint64_t first_line = line_;
    const size_t begin = ++*end;
    size_t to = begin;
    for (;; ++*end) {
      const int c = at(*end);
      if (c < 0) {
        if (!file_.status().ok()) return file_.status();
        return refuse(first_line, fmt::format("field {}: the closing quotation mark is missing", places_.size() + 1));
      }
      if (c == '"' && at(*end + 1) != '"') break;
      if (c == '"') ++*end;
      if (c == '\n') ++line_;
      file_.data()[to++] = static_cast<char>(c);
    }
    ++*end;
    places_.push_back({begin, to - begin, true});
    return {};
  }

  std::vector<Place> places_;
  size_t consumed_later_ = 0;
};

class JsonLinesReader : public RecordReader {
 public:
  Status open(const std::string& path) { return file_.open(path); }

  Result<bool> next() override {
    for (;;) {
      std::string_view text;
      if (!read_line(&text)) return file_.status().ok() ? Result<bool>(false) : Result<bool>(file_.status());
      if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (Status status = object_.parse(text); !status.ok()) return refuse(record_line_, words_of(status));
      cells_.assign(names_.size(), Cell());
      for (size_t i = 0; i < object_.members().size(); ++i) {
        const JsonObject::Member& member = object_.members()[i];
        Cell& cell = cells_[position_of(member.name, i)];
        if (cell.kind != Cell::Kind::kAbsent)
          return refuse(record_line_, fmt::format("the object has the member '{}' twice", shown(member.name)));
        cell = member.cell;
      }
      return true;
    }
  }

 private:
  bool read_line(std::string_view* text) {
    file_.consume(consumed_later_);
    consumed_later_ = 0;
    record_line_ = line_++;
    for (size_t searched = 0;;) {
      const void* const end = file_.size() == searched ? nullptr : std::memchr(file_.data() + searched, '\n', file_.size() - searched);
      if (end != nullptr) {
        *text = {file_.data(), static_cast<size_t>(static_cast<const char*>(end) - file_.data())};
        consumed_later_ = text->size() + 1;
        return true;
      }
      searched = file_.size();
      if (file_.more()) continue;
      *text = {file_.data(), file_.size()};
      consumed_later_ = text->size();
      return !text->empty() && file_.status().ok();
    }
  }
  // Usually, each object has the same members in the same order.
  size_t position_of(std::string_view name, size_t expected) {
    if (expected < names_.size() && names_[expected] == name) return expected;
    const auto [found, added] = positions_.try_emplace(std::string(name), names_.size());
    if (added) {
      names_.emplace_back(name);
      cells_.emplace_back();
    }
    return found->second;
  }

  JsonObject object_;
  std::unordered_map<std::string, size_t> positions_;
  size_t consumed_later_ = 0;
};

template <class Reader>
Result<std::unique_ptr<RecordReader>> open_reader(const std::string& path) {
  auto reader = std::make_unique<Reader>();
  if (Status status = reader->open(path); !status.ok()) return status;
  return std::unique_ptr<RecordReader>(std::move(reader));
}

}  // namespace

Result<std::unique_ptr<RecordReader>> RecordReader::open(const std::string& path, const std::string& format) {
  return format == "csv" ? open_reader<CsvReader>(path) : open_reader<JsonLinesReader>(path);
}

std::string RecordReader::where(uint64_t line) const { return fmt::format("{}, line {}", file_.name(), line); }

Status RecordReader::refuse(uint64_t line, const std::string& why) const { return Status::invalid_argument(where(line) + ": " + why); }

}  // namespace elider::tools
