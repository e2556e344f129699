#include "log/directory.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include "base/status_words.h"
#include "base/test_points.h"
#include "log/checkpoint_file.h"

namespace elider::log {

DatabaseId Directory::new_database_id() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  return {word(), word()};
}

// -- opening --------------------------------------------------------------------------------------

Status Directory::open(FileSystem& files, const std::vector<std::string>& folders, bool create, const Rules& rules,
                       std::unique_ptr<Directory>* opened) {
  if (folders.empty() || folders.size() > 255)
    return Status::invalid_argument(std::to_string(folders.size()) + " data folders were given; 1 to 255 are possible");
  std::vector<std::string> paths;
  for (const std::string& folder : folders) {
    paths.push_back(files.absolute(folder));
    if (std::find(paths.begin(), paths.end() - 1, paths.back()) != paths.end() - 1)
      return Status::invalid_argument("the data folder '" + folder + "' is listed twice");
  }
  std::unique_ptr<Directory> directory(new Directory(files, std::move(paths)));
  if (Status status = directory->open_folders(folders); !status.ok()) return status;
  // These checks come before any file is created, so that no lock file appears in a folder that
  // does not belong to the database.
  bool there = false;
  const bool makes = create && rules.create_if_missing;
  const Status found = directory->find_database(makes, &there);
  if (!found.ok() && !found.not_found()) return found;
  // Foreign files are refused even if `create` is false, when a new database exists only in memory.
  if (!there && rules.create_if_missing)
    if (Status status = directory->refuse_files_of_others(); !status.ok()) return status;
  if (!found.ok() && !makes) return found;
  if (create)
    if (Status status = directory->make_folders(folders); !status.ok()) return status;
  if (Status status = directory->hold_folders(rules.hold); !status.ok()) return status;
  Status status = directory->load(makes, rules);
  // find_database() has just found the manifest, so the result must not be kNotFound: a caller for
  // which the database is optional would conclude that it does not exist.
  if (status.not_found()) return file_error("read", directory->manifest_path(), ENOENT);
  if (!status.ok()) return status;
  *opened = std::move(directory);
  return {};
}

// Opens the folders that exist.
Status Directory::open_folders(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (Status status = files_.open_folder(names[i], &folders_[i]); !status.ok() && !status.not_found()) return status;
  return {};
}

Status Directory::make_folders(const std::vector<std::string>& names) {
  bool made = false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (folders_[i] == nullptr)
      if (Status status = files_.make_folder(names[i], &made); !status.ok()) return status;
    if (folders_[i] == nullptr)
      if (Status status = files_.open_folder(names[i], &folders_[i]); !status.ok() && !status.not_found()) return status;
    if (folders_[i] == nullptr) return file_error("open the folder", paths_[i], ENOENT);
    if (Status status = folders_[i]->sync_name(); !status.ok()) return status;
  }
  return {};
}

// Locks every folder, because the second folder of an open database must not become the first
// folder of another database.
Status Directory::hold_folders(Hold hold) {
  for (size_t i = 0; i < folders_.size(); ++i) {
    if (folders_[i] == nullptr) return file_error("open the folder", paths_[i], ENOENT);
    if (Status status = folders_[i]->hold_file(kLockName, hold, &lock_files_.emplace_back()); !status.ok()) return status;
    // The lock on the lock file does not suffice, because a program may have removed the lock file.
    if (Status status = folders_[i]->hold(hold); !status.ok()) return status;
    // Before the folder was locked, another folder may have been put at its path.
    if (Status status = folders_[i]->check_place(); !status.ok()) return status;
  }
  return {};
}

std::vector<Folder*> Directory::folders() const {
  std::vector<Folder*> all;
  for (const auto& folder : folders_) all.push_back(folder.get());
  return all;
}

std::string Directory::manifest_path() const { return paths_.front() + "/" + kManifestName; }

// Sets *there to true if the first folder contains a manifest. Otherwise returns kNotFound or, if
// `makes` is false and other files of a database exist, kCorrupt.
Status Directory::find_database(bool makes, bool* there) {
  std::vector<std::string> names;
  if (folders_.front() != nullptr)
    if (Status status = folders_.front()->list(&names); !status.ok()) return status;
  *there = std::find(names.begin(), names.end(), std::string(kManifestName)) != names.end();
  if (*there) return {};
  // If `makes` is true, make_manifest() calls refuse_files_of_ours() later, after the folders have
  // been locked, because this folder may be the second folder of a database that is open now.
  if (!makes)
    if (Status status = refuse_files_of_ours(); !status.ok()) return status;
  if (folders_.front() == nullptr) return Status(Code::kNotFound, "the folder '" + paths_.front() + "' does not exist");
  return Status(Code::kNotFound, "the folder '" + paths_.front() + "' does not contain a database");
}

Status Directory::load(bool create, const Rules& rules) {
  ReadBuffer manifest;
  Status status = manifest.read(*folders_.front(), kManifestName, kManifestBytesMax);
  if (status.not_found()) {
    if (!create) return status;
    return make_manifest();
  }
  if (!status.ok()) return status;
  if (status = decode(manifest.bytes(), &manifest_); !status.ok()) return reworded(status.code(), "'" + manifest_path() + "': ", status);
  if (manifest_.folders != folders_.size())
    return Status::invalid_argument("the database in '" + paths_.front() + "' has " + std::to_string(manifest_.folders) +
                                    " data folders, not " + std::to_string(folders_.size()));
  if (rules.error_if_exists)
    return Status::invalid_argument("the folder '" + paths_.front() + "' already contains a database, and Options::error_if_exists is set");
  return check_files();
}

// Returns kCorrupt if a folder contains files of a database although the first folder lacks a
// manifest. Either the manifest is lost, or another folder is the database's first folder.
Status Directory::refuse_files_of_ours() {
  std::vector<std::string> names;
  for (const auto& folder : folders_) {
    if (folder == nullptr) continue;
    if (Status status = folder->list(&names); !status.ok()) return status;
    SegmentName segment;
    CheckpointName part;
    for (const std::string& text : names)
      if (parse_file_name(text, &segment) || parse_file_name(text, &part) || (text == kManifestName && folder != folders_.front()))
        return Status(Code::kCorrupt, "'" + manifest_path() + "' is missing, but '" + folder->path_of(text) + "' exists");
  }
  return {};
}

// Refuses to create a database in a folder that contains other programs' files, because the path
// was probably mistyped. An interrupted creation may have left a lock file and a manifest that was
// not renamed yet, so these are accepted.
Status Directory::refuse_files_of_others() {
  std::vector<std::string> names;
  for (const auto& folder : folders_) {
    if (folder == nullptr) continue;
    if (Status status = folder->list(&names); !status.ok()) return status;
    std::sort(names.begin(), names.end());
    SegmentName segment;
    CheckpointName part;
    for (const std::string& text : names) {
      const bool ours =
          parse_file_name(text, &segment) || parse_file_name(text, &part) || text == kLockName || text.starts_with(kManifestName);
      if (!ours && text != "lost+found")
        return Status::invalid_argument("the folder '" + folder->path() + "' contains files that do not belong to a database, such as '" +
                                        text +
                                        "'; use an empty folder, or one that does not exist yet");
    }
  }
  return {};
}

// A database exists as soon as its manifest exists.
Status Directory::make_manifest() {
  if (Status status = refuse_files_of_ours(); !status.ok()) return status;
  manifest_.database = new_database_id();
  manifest_.folders = static_cast<uint32_t>(folders_.size());
  Published unneeded;
  return write_manifest(manifest_, &unneeded);
}

Status Directory::write_manifest(const Manifest& manifest, Published* published) {
  *published = Published::kNo;
  if (Status status = check_places(); !status.ok()) return status;
  Manifest written = manifest;  // copied first: an exception after the publication would look like a failed publication
  if (Status status = replace_manifest(*folders_.front(), manifest, published); !status.ok()) return status;
  if (Status status = sync(*folders_.front()); !status.ok()) return status;
  *published = Published::kYes;
  manifest_ = std::move(written);
  return {};
}

Status Directory::sync(Folder& folder) {
  Status status = folder.sync();
  if (!status.ok() && log_failure_.ok()) log_failure_ = status;
  return status;
}

Status Directory::check_places() {
  for (const auto& folder : folders_) {
    Status status = folder->check_place();
    if (status.ok()) continue;
    if (log_failure_.ok()) log_failure_ = status;
    return status;
  }
  return {};
}

// Checks the files that the manifest does not list, before for_each_unlisted() causes their
// removal. Listed files are checked when they are read. If a file belongs to a later generation,
// the manifest is an old copy. If a file belongs to another database, the folder does not belong to
// this database.
Status Directory::check_files() const {
  const uint32_t last = manifest_.generations.empty() ? 0 : manifest_.generations.back().generation;
  const auto other_database = [](const std::string& path) {
    return Status::invalid_argument("the folder contains a file of another database: '" + path + "'");
  };
  for (size_t f = 1; f < folders_.size(); ++f) {
    std::vector<std::string> names;
    if (Status status = folders_[f]->list(&names); !status.ok()) return status;
    if (std::find(names.begin(), names.end(), std::string(kManifestName)) != names.end())
      return other_database(folders_[f]->path_of(kManifestName));
  }
  return for_each_unlisted([&](Folder& folder, const std::string& name) -> Status {
    const std::string path = folder.path_of(name);
    SegmentName segment;
    const bool of_log = parse_file_name(name, &segment);
    if (of_log && segment.generation > last)
      return Status(Code::kCorrupt, "'" + manifest_path() + "' is older than '" + path + "', which it does not list");
    std::unique_ptr<File> file;
    if (Status status = folder.open(name, OpenMode::kRead, &file); !status.ok()) return status;
    std::byte header[kSegmentHeaderBytes];
    static_assert(kSegmentHeaderBytes == kCheckpointHeaderBytes);
    size_t count = 0;
    if (Status status = file->read_at(0, header, &count); !status.ok()) return status;
    DatabaseId database{};
    const Status known = of_log ? database_of(Bytes(header, count), &database) : database_of_part(Bytes(header, count), &database);
    if (known.code() == Code::kUnsupported) return reworded(known.code(), "'" + path + "' at byte 0: ", known);
    return known.ok() && database != manifest_.database ? other_database(path) : Status();  // a crash may leave an invalid header
  });
}

// -- the next generation --------------------------------------------------------------------------

// Returns true if recovery from the oldest checkpoint would use a record from this generation.
bool Directory::needed(const Generation& generation) const {
  return std::any_of(judged_.begin(), judged_.end(), [&](const LogPiece& piece) {
    return piece.name.generation == generation.generation && piece.range.last_number > oldest_base() &&
           piece.range.first_number <= to_number_;
  });
}

SnapshotNumber Directory::oldest_base() const {
  return manifest_.checkpoints.empty() ? 0 : std::min(manifest_.checkpoints.front().number, base_);
}

// If a generation's process was killed or its log failed, recovery may have read frames from the
// page cache that are not on the disk. This function makes these frames durable before the manifest
// records a cut that relies on them. A frame is synced before the next frame of its stream is
// written, so only the last frame of each stream may be missing on the disk. That frame is written
// again, because after a failed sync the system considers its pages clean, and another sync would
// not write them.
Status Directory::make_durable(const Generation& generation) {
  if (ELIDER_MUTANT(kRelyOnUnsynced)) return {};
  ReadBuffer buffer;
  for (uint32_t s = 0; s < generation.streams; ++s) {
    const auto holds_frames = [&](const SegmentFacts& facts) {
      return facts.name.generation == generation.generation && facts.name.stream == s && facts.frames != 0;
    };
    const auto last = std::find_if(segments_.rbegin(), segments_.rend(), holds_frames);
    if (last == segments_.rend()) continue;
    uint64_t offset = 0, bytes = 0;
    const auto note = [&](const FrameView& frame) {
      offset = frame.offset;
      bytes = kFrameHeaderBytes + frame.payload.size();
      return Status();
    };
    const FrameRange& range = last->ranges.back();
    if (Status status = read_range(folder_of(s), manifest_.database, last->name, range, &buffer, note); !status.ok()) return status;
    std::unique_ptr<File> file;
    if (Status status = folder_of(s).open(file_name(last->name), OpenMode::kWrite, &file); !status.ok()) return status;
    const Bytes frame = buffer.bytes().subspan(offset - range.offset, bytes);
    if (Status status = ELIDER_MUTANT(kSyncWithoutRewrite) ? file->sync() : file->write_and_sync(offset, frame); !status.ok())
      return status;
  }
  return {};
}

Status Directory::begin_generation(uint32_t streams, uint32_t* generation) {
  Manifest next = manifest_;
  std::erase_if(next.checkpoints, [&](const Checkpoint& checkpoint) { return checkpoint.number > to_number_; });
  next.generations.clear();
  for (size_t i = 0; i < manifest_.generations.size(); ++i) {
    if (!needed(manifest_.generations[i])) continue;
    next.generations.push_back(manifest_.generations[i]);
    next.generations.back().cut = std::min(cuts_[i], to_number_);
  }
  *generation = manifest_.generations.empty() ? 1 : manifest_.generations.back().generation + 1;
  next.generations.push_back({*generation, streams, kNumberMax, std::vector<uint32_t>(streams)});
  next.next_number = first_number_;
  for (const Generation& old : manifest_.generations) {
    const auto is_old = [&](const Generation& kept) { return kept.generation == old.generation; };
    if (old.cut != kNumberMax || std::none_of(next.generations.begin(), next.generations.end(), is_old)) continue;
    if (Status status = make_durable(old); !status.ok()) return status;
  }
  Published unneeded;
  if (Status status = write_manifest(next, &unneeded); !status.ok()) return status;
  return remove_unlisted();
}

Status Directory::end_generation(SnapshotNumber closed) {
  ReadBuffer manifest;
  if (Status status = manifest.read(*folders_.front(), kManifestName, kManifestBytesMax); !status.ok()) return status;
  // Another program may have replaced the folder's files, for example with an older copy of the
  // database.
  if (!std::ranges::equal(manifest.bytes(), encode(manifest_)))
    return Status(Code::kCorrupt, "'" + manifest_path() + "' is not the one that this database wrote");
  Manifest next = manifest_;
  next.generations.back().cut = closed;
  Published unneeded;
  return write_manifest(next, &unneeded);
}

// -- checkpoints ----------------------------------------------------------------------------------

// Drops all generations and segments from `manifest` that do not contain records after the oldest
// checkpoint.
void Directory::drop_log(Manifest* manifest) {
  const Checkpoint& oldest = ELIDER_MUTANT(kRemoveKeptLog) ? manifest->checkpoints.back() : manifest->checkpoints.front();
  const uint64_t base = oldest.number + (ELIDER_MUTANT(kDropOneMore) ? 1 : 0);
  const uint32_t open = manifest->generations.back().generation;
  std::erase_if(manifest->generations,
                [&](const Generation& generation) { return generation.generation != open && generation.cut <= base; });
  for (Generation& generation : manifest->generations)
    for (uint32_t s = 0; s < generation.streams; ++s)
      for (;; ++generation.first_segments[s]) {
        const SegmentName name{generation.generation, s, generation.first_segments[s]};
        const auto known = finished_.find(file_name(name));
        if (known == finished_.end() || known->second > base) break;
      }
}

Status Directory::publish(const Checkpoint& checkpoint, uint32_t kept, const std::vector<FinishedSegment>& finished, Published* published) {
  *published = Published::kNo;
  for (const FinishedSegment& segment : finished) finished_[file_name(segment.name)] = segment.last_number;
  Manifest next = manifest_;
  const auto damaged = [&](const Checkpoint& old) { return std::find(damaged_.begin(), damaged_.end(), old) != damaged_.end(); };
  std::erase_if(next.checkpoints, damaged);
  next.checkpoints.push_back(checkpoint);
  if (next.checkpoints.size() > kept) next.checkpoints.erase(next.checkpoints.begin(), next.checkpoints.end() - kept);
  drop_log(&next);
  // The names of the checkpoint's files, and of the segments that become the first of their
  // streams, must be durable before the new manifest relies on them.
  for (const auto& folder : folders_)
    if (Status status = sync(*folder); !status.ok()) return status;
  if (ELIDER_MUTANT(kRemoveLogEarly)) {
    const Manifest before = manifest_;
    manifest_ = next;
    Status status = remove_unlisted();
    manifest_ = before;
    if (!status.ok()) return status;
  }
  if (Status status = write_manifest(next, published); !status.ok()) return status;
  ELIDER_TEST_POINT("checkpoint.published");
  return remove_unlisted();
}

// Calls visit(folder, name) for each file that the manifest does not list. Such a file was left
// behind by a crash, or has become unnecessary.
Status Directory::for_each_unlisted(const std::function<Status(Folder&, const std::string&)>& visit) const {
  const auto listed_segment = [&](const SegmentName& name) {
    const auto& all = manifest_.generations;
    return std::any_of(all.begin(), all.end(), [&](const Generation& g) {
      return g.generation == name.generation && (name.stream >= g.streams || name.segment >= g.first_segments[name.stream]);
    });
  };
  const auto listed_part = [&](const CheckpointName& name) {
    const auto& all = manifest_.checkpoints;
    return std::any_of(all.begin(), all.end(), [&](const Checkpoint& c) { return c.number == name.number && name.part < c.parts; });
  };
  std::vector<std::string> names;
  for (const auto& folder : folders_) {
    if (Status status = folder->list(&names); !status.ok()) return status;
    for (const std::string& text : names) {
      SegmentName segment;
      CheckpointName part;
      const bool unlisted = parse_file_name(text, &segment) ? !listed_segment(segment) : parse_file_name(text, &part) && !listed_part(part);
      if (!unlisted) continue;
      if (Status status = visit(*folder, text); !status.ok()) return status;
    }
  }
  return {};
}

Status Directory::remove_unlisted() {
  return for_each_unlisted([&](Folder& folder, const std::string& name) {
    finished_.erase(name);
    return folder.remove(name);
  });
}

}  // namespace elider::log
