// Functions that replace the manifest file atomically: they write the new manifest under another
// name, sync it, and rename it.
//
// Thread safety: one thread at a time per folder.
#pragma once

#include <string>

#include "log/files.h"
#include "log/format.h"

namespace elider::log {

// What is known after an attempt to publish a manifest.
enum class Published : uint8_t {
  kNo,       // it is not valid; the files that it lists may be removed
  kUnknown,  // the rename or the sync of the folder failed, so it may be valid; the files that it lists must not be removed
  kYes,
};

inline std::string new_manifest_name() { return std::string(kManifestName) + ".new"; }

// Writes the manifest under a temporary name and renames it. The caller must then sync the folder.
// *published: kNo if nothing was renamed, otherwise kUnknown.
Status replace_manifest(Folder& folder, const Manifest& manifest, Published* published);
// Removes the manifest of a new database that is not in use yet. Returns false if the manifest may
// still exist.
bool withdraw_manifest(Folder& folder);

}  // namespace elider::log
