#include "log/manifest_file.h"

#include <algorithm>
#include <vector>

namespace elider::log {

Status replace_manifest(Folder& folder, const Manifest& manifest, Published* published) {
  const std::string fresh = new_manifest_name();
  *published = Published::kNo;
  const std::vector<std::byte> bytes = encode(manifest);
  std::unique_ptr<File> file;
  Status status = folder.open(fresh, OpenMode::kCreateNew, &file);
  if (status.ok()) status = file->write_and_sync(0, bytes);
  if (!status.ok()) {
    static_cast<void>(folder.remove(fresh));  // frees disk space if the disk is full
    return status;
  }
  *published = Published::kUnknown;
  return folder.rename(fresh, kManifestName);
}

bool withdraw_manifest(Folder& folder) {
  for (const std::string& name : {std::string(kManifestName), new_manifest_name()}) static_cast<void>(folder.remove(name));
  std::vector<std::string> names;
  if (!folder.list(&names).ok()) return false;
  if (!folder.sync().ok()) return false;  // the files that the manifest lists may only be removed after this
  return std::find(names.begin(), names.end(), std::string(kManifestName)) == names.end();
}

}  // namespace elider::log
