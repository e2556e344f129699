// CrashDisk: what a disk may hold after a crash, derived from the calls that MemoryFiles recorded.
//
// The crash model: the contents and length of a file are certain up to its last sync. Each 512-byte
// sector that changed since then may have its old or its new contents, and the file may have any
// length that it reached. A failed sync does not make anything certain, and later syncs treat what
// it left in memory as clean: only what is written again reaches the disk, and the length only as
// far as that. Creations, renames and removals in a folder are certain once that folder is synced.
// Any prefix of those since the sync may have happened, independently of other folders. Truncating
// a file to zero creates another file of the same name.
// The disk is moved forward by one call at a time, so that one pass generates the images of all
// crash points of a run. A killed process leaves everything(), and the calls of its successor
// continue on the same disk, of which not all is certain. Thread safety: one thread at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/memory_files.h"

namespace elider::io {

class CrashDisk {
 public:
  using Call = MemoryFiles::Call;
  using Contents = MemoryFiles::Contents;
  static constexpr size_t kSectorBytes = 512;

  explicit CrashDisk(const Contents& before = {}) {
    for (const auto& [path, bytes] : before) sure_[path] = now_[path] = std::make_shared<Inode>(Inode{bytes, bytes, {}, {}});
  }

  CrashDisk(const CrashDisk& other) { *this = other; }
  CrashDisk& operator=(const CrashDisk& other) {
    if (this == &other) return *this;
    std::map<const Inode*, std::shared_ptr<Inode>> copies;
    const auto copy = [&](const std::shared_ptr<Inode>& inode) {
      if (inode == nullptr) return inode;
      std::shared_ptr<Inode>& made = copies[inode.get()];
      if (made == nullptr) made = std::make_shared<Inode>(*inode);
      return made;
    };
    sure_ = other.sure_;
    now_ = other.now_;
    pending_ = other.pending_;
    for (Names* const names : {&sure_, &now_})
      for (auto& [path, inode] : *names) inode = copy(inode);
    for (auto& [folder, changes] : pending_)
      for (Change& change : changes) change.inode = copy(change.inode);
    return *this;
  }

  void apply(const Call& call) {
    switch (call.kind) {
      case Call::Kind::kCreate:
      case Call::Kind::kEmpty: {
        auto inode = std::make_shared<Inode>();
        now_[call.path] = inode;
        pending_[folder_of(call.path)].push_back({call.path, "", std::move(inode)});
        break;
      }
      case Call::Kind::kWrite: now_[call.path]->write(call.offset, call.bytes); break;
      case Call::Kind::kSync: now_[call.path]->sync(); break;
      case Call::Kind::kSyncFailed: now_[call.path]->dirty.clear(); break;
      case Call::Kind::kRename: {
        auto inode = now_[call.path];
        now_.erase(call.path);
        now_[call.to] = inode;
        pending_[folder_of(call.to)].push_back({call.to, call.path, std::move(inode)});
        break;
      }
      case Call::Kind::kRemove:
        now_.erase(call.path);
        pending_[folder_of(call.path)].push_back({"", call.path, nullptr});
        break;
      case Call::Kind::kSyncFolder: settle(call.path); break;
    }
  }

  // How many things are not sure: the questions that image() asks.
  size_t unsure() const {
    size_t count = 0;
    for (const auto& [folder, changes] : pending_) count += changes.size();
    for (const Inode* inode : reachable()) count += inode->changed.size();
    return count;
  }

  // One image; `happened()` answers for each unsure thing, in an order that depends on the disk
  // alone. A change of names counts only if all before it in its folder do.
  template <class Happened>
  Contents image(Happened&& happened) const {
    std::map<std::string, std::shared_ptr<Inode>> names = sure_;
    for (const auto& [folder, changes] : pending_) {
      bool still = true;
      for (const Change& change : changes) {
        still = happened() && still;
        if (still) change.make(&names);
      }
    }
    std::map<const Inode*, std::vector<std::byte>> survived;
    for (const Inode* inode : reachable()) survived[inode] = inode->survive(happened);
    Contents result;
    for (const auto& [path, inode] : names) result[path] = survived[inode.get()];
    return result;
  }
  // What a process sees, and one that comes after it is killed.
  Contents everything() const {
    Contents result;
    for (const auto& [path, inode] : now_) result[path] = inode->now;
    return result;
  }
  Contents nothing_unsure() const {
    return image([] { return false; });
  }

 private:
  struct Inode {
    std::vector<std::byte> sure, now;
    std::vector<size_t> changed;  // sectors that are not sure, in order
    std::set<size_t> dirty;       // sectors that the next sync writes

    void write(uint64_t offset, const std::vector<std::byte>& bytes) {
      if (bytes.empty()) return;
      const size_t from = std::min<size_t>(now.size(), offset), end = offset + bytes.size();  // a gap is written, too
      if (now.size() < end) now.resize(end);
      std::memcpy(now.data() + offset, bytes.data(), bytes.size());
      for (size_t sector = from / kSectorBytes; sector * kSectorBytes < end; ++sector) dirty.insert(sector);
      find_changed();
    }
    void sync() {
      for (const size_t sector : dirty) {
        const size_t at = sector * kSectorBytes, bytes = std::min(kSectorBytes, now.size() - at);
        if (sure.size() < at + bytes) sure.resize(at + bytes);
        std::memcpy(sure.data() + at, now.data() + at, bytes);
      }
      dirty.clear();
      find_changed();
    }
    void find_changed() {
      changed.clear();
      for (size_t at = 0; at < now.size(); at += kSectorBytes) {
        const size_t bytes = std::min(kSectorBytes, now.size() - at);
        if (at + bytes > sure.size() || std::memcmp(sure.data() + at, now.data() + at, bytes) != 0) changed.push_back(at / kSectorBytes);
      }
    }
    template <class Happened>
    std::vector<std::byte> survive(Happened&& happened) const {
      std::vector<std::byte> result = sure;
      for (size_t sector : changed) {
        if (!happened()) continue;
        const size_t at = sector * kSectorBytes, bytes = std::min(kSectorBytes, now.size() - at);
        if (result.size() < at + bytes) result.resize(at + bytes);
        std::memcpy(result.data() + at, now.data() + at, bytes);
      }
      return result;
    }
  };
  using Names = std::map<std::string, std::shared_ptr<Inode>>;
  // A name that comes, goes, or both.
  struct Change {
    std::string comes, goes;
    std::shared_ptr<Inode> inode;
    void make(Names* names) const {
      if (!goes.empty()) names->erase(goes);
      if (!comes.empty()) (*names)[comes] = inode;
    }
  };

  static std::string folder_of(const std::string& path) {
    const size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
  }
  void settle(const std::string& folder) {
    const auto found = pending_.find(folder);
    if (found == pending_.end()) return;
    for (const Change& change : found->second) change.make(&sure_);
    pending_.erase(found);
  }
  // Every file that some image may show, each once, in the order of names.
  std::vector<const Inode*> reachable() const {
    std::vector<const Inode*> all;
    const auto add = [&](const std::shared_ptr<Inode>& inode) {
      if (inode != nullptr && std::find(all.begin(), all.end(), inode.get()) == all.end()) all.push_back(inode.get());
    };
    for (const auto& [path, inode] : sure_) add(inode);
    for (const auto& [folder, changes] : pending_)
      for (const Change& change : changes) add(change.inode);
    return all;
  }

  Names sure_, now_;
  std::map<std::string, std::vector<Change>> pending_;  // by folder: changes of names since it was synced
};

}  // namespace elider::io
