#include "log/directory.h"

#include <algorithm>
#include <random>

namespace elider::log {

namespace {

DatabaseId new_database_id() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

std::string parent_of(const std::string& folder) {
  const size_t slash = folder.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : folder.substr(0, slash);
}

}  // namespace

// -- opening -------------------------------------------------------------------------------------------------

Status Directory::open(FileSystem& files, const std::vector<std::string>& folders, bool create, std::unique_ptr<Directory>* opened) {
  if (folders.empty() || folders.size() > 255) return Status::invalid_argument(std::to_string(folders.size()) + " data folders; 1 to 255 are possible");
  std::unique_ptr<Directory> directory(new Directory(files, folders));
  if (create) {
    for (const std::string& folder : folders) {
      if (Status status = files.make_folder(folder); !status.ok()) return status;
      if (Status status = files.sync_folder(parent_of(folder)); !status.ok()) return status;
    }
  } else {
    std::vector<std::string> names;
    if (Status status = files.list(folders.front(), &names); !status.ok()) return status;
    if (std::find(names.begin(), names.end(), std::string(kManifestName)) == names.end())
      return Status(Code::kNotFound, "the folder '" + folders.front() + "' holds no database");
  }
  if (Status status = files.lock(folders.front() + "/LOCK", &directory->lock_); !status.ok()) return status;
  if (Status status = directory->load(create); !status.ok()) return status;
  *opened = std::move(directory);
  return {};
}

Status Directory::load(bool create) {
  const std::string path = folders_.front() + "/" + kManifestName;
  std::vector<std::byte> bytes;
  Status status = files_.read_all(path, &bytes);
  if (status.not_found()) {
    if (!create) return status;
    return make_manifest();
  }
  if (!status.ok()) return status;
  if (status = decode(bytes, &manifest_); !status.ok()) return Status(status.code(), "'" + path + "': " + status.message());
  if (manifest_.folders != folders_.size())
    return Status::invalid_argument("the database in '" + folders_.front() + "' has " + std::to_string(manifest_.folders) + " data folders, not " +
                                    std::to_string(folders_.size()));
  return check_files();
}

// A database begins when its manifest is there; whatever log there is without one belongs to a lost one.
Status Directory::make_manifest() {
  std::vector<std::string> names;
  for (const std::string& folder : folders_) {
    if (Status status = files_.list(folder, &names); !status.ok()) return status;
    SegmentName name;
    for (const std::string& text : names)
      if (parse_file_name(text, &name))
        return Status(Code::kCorrupt, "'" + folders_.front() + "/" + kManifestName + "' is missing, but there is '" + folder + "/" + text + "'");
  }
  manifest_.database = new_database_id();
  manifest_.folders = static_cast<uint32_t>(folders_.size());
  return write_manifest(manifest_);
}

// As a whole or not at all: under another name, synced, renamed, and the name synced.
Status Directory::write_manifest(const Manifest& manifest) {
  const std::string path = folders_.front() + "/" + kManifestName, fresh = path + ".new";
  std::unique_ptr<File> file;
  if (Status status = files_.open(fresh, OpenMode::kCreateNew, &file); !status.ok()) return status;
  if (Status status = file->write_and_sync(0, encode(manifest)); !status.ok()) return status;
  if (Status status = files_.rename(fresh, path); !status.ok()) return status;
  if (Status status = files_.sync_folder(folders_.front()); !status.ok()) return status;
  manifest_ = manifest;
  return {};
}

// Files of a generation that the manifest does not know yet mean that the manifest is an old one.
Status Directory::check_files() const {
  const uint32_t last = manifest_.generations.empty() ? 0 : manifest_.generations.back().generation;
  std::vector<std::string> names;
  for (const std::string& folder : folders_) {
    if (Status status = files_.list(folder, &names); !status.ok()) return status;
    SegmentName name;
    for (const std::string& text : names)
      if (parse_file_name(text, &name) && name.generation > last)
        return Status(Code::kCorrupt, "'" + folders_.front() + "/" + kManifestName + "' is older than '" + folder + "/" + text + "', which it does not know");
  }
  return {};
}

// -- recovery --------------------------------------------------------------------------------------------------

// Reads a generation's frames without its records: whether it is whole, and where it ends.
Status Directory::scan(size_t position, uint64_t* cut, RecoveryFacts* facts) {
  const Generation& generation = manifest_.generations[position];
  std::vector<StreamFacts> streams(generation.streams);
  uint64_t smallest = kNumberMax;
  bool frames = false;
  for (uint32_t s = 0; s < generation.streams; ++s) {
    if (Status status = read_stream(files_, folder_of(s), manifest_.database, generation.generation, s, [](const FrameView&) { return Status(); }, &streams[s]);
        !status.ok())
      return status;
    smallest = std::min(smallest, streams[s].closed);
    frames = frames || streams[s].frames != 0;
    facts->frames += streams[s].frames;
    facts->bytes += streams[s].bytes;
    facts->cuts.insert(facts->cuts.end(), streams[s].cuts.begin(), streams[s].cuts.end());
    first_number_ = std::max({first_number_, streams[s].last_number + 1, streams[s].closed + 1});
  }
  *cut = generation.cut != kNumberMax ? generation.cut : smallest;
  for (uint32_t s = 0; s < generation.streams; ++s) {
    const std::string file = folder_of(s) + "/" + file_name({generation.generation, s, 0});
    if (frames && !streams[s].found) return Status(Code::kCorrupt, "'" + file + "' is missing or has no header, though other files of its time hold frames");
    if (streams[s].closed < *cut)
      return Status(Code::kCorrupt, "'" + (streams[s].last_file.empty() ? file : streams[s].last_file) + "' at byte " + std::to_string(streams[s].last_offset) +
                                        ": the log ends at number " + std::to_string(streams[s].closed) + ", but number " + std::to_string(*cut) +
                                        " was recovered from it before");
    for (uint32_t other = 0; other < generation.streams; ++other)
      if (streams[other].durable > streams[s].closed)
        return Status(Code::kCorrupt, "'" + (streams[s].last_file.empty() ? file : streams[s].last_file) + "' at byte " + std::to_string(streams[s].last_offset) +
                                          ": the log ends at number " + std::to_string(streams[s].closed) + ", but number " +
                                          std::to_string(streams[other].durable) + " was durable, says '" + streams[other].durable_file + "' at byte " +
                                          std::to_string(streams[other].durable_offset));
  }
  return {};
}

Status Directory::replay(size_t position, uint64_t to_number, const Visit& visit, RecoveryFacts* facts) {
  const Generation& generation = manifest_.generations[position];
  const uint64_t last = std::min(cuts_[position], to_number);
  for (uint32_t s = 0; s < generation.streams; ++s) {
    StreamFacts unneeded;
    const auto of_record = [&](const Record& record) -> Status {
      if (record.number > cuts_[position]) ++facts->records_void;
      else ++counted_[position];
      if (record.number > last) return {};
      ++facts->records;
      facts->last_number = std::max(facts->last_number, record.number);
      return visit(generation.generation, s, record);
    };
    const auto of_frame = [&](const FrameView& frame) { return read_records(frame, folder_of(s), of_record); };
    if (Status status = read_stream(files_, folder_of(s), manifest_.database, generation.generation, s, of_frame, &unneeded); !status.ok()) return status;
  }
  return {};
}

Status Directory::recover(uint64_t to_number, const Visit& visit, RecoveryFacts* facts) {
  *facts = {};
  const size_t count = manifest_.generations.size();
  cuts_.assign(count, 0);
  counted_.assign(count, 0);
  first_number_ = std::max<uint64_t>(1, manifest_.next_number);
  // All of it is judged before anything is taken from it.
  for (size_t i = 0; i < count; ++i)
    if (Status status = scan(i, &cuts_[i], facts); !status.ok()) return status;
  for (size_t i = 0; i < count; ++i)
    if (Status status = replay(i, to_number, visit, facts); !status.ok()) return status;
  return {};
}

// -- the next generation ---------------------------------------------------------------------------------------

Status Directory::begin_generation(uint32_t streams, uint32_t* generation) {
  Manifest next = manifest_;
  next.generations.clear();
  for (size_t i = 0; i < manifest_.generations.size(); ++i) {
    if (counted_.size() <= i || counted_[i] == 0) continue;
    next.generations.push_back(manifest_.generations[i]);
    next.generations.back().cut = cuts_[i];
  }
  *generation = manifest_.generations.empty() ? 1 : manifest_.generations.back().generation + 1;
  next.generations.push_back({*generation, streams, kNumberMax});
  next.next_number = first_number_;
  if (Status status = write_manifest(next); !status.ok()) return status;
  return remove_unlisted();
}

Status Directory::remove_unlisted() {
  std::vector<std::string> names;
  for (const std::string& folder : folders_) {
    if (Status status = files_.list(folder, &names); !status.ok()) return status;
    for (const std::string& text : names) {
      SegmentName name;
      if (!parse_file_name(text, &name)) continue;
      const auto& listed = manifest_.generations;
      if (std::any_of(listed.begin(), listed.end(), [&](const Generation& g) { return g.generation == name.generation; })) continue;
      if (Status status = files_.remove(folder + "/" + text); !status.ok()) return status;
    }
  }
  return {};
}

}  // namespace elider::log
