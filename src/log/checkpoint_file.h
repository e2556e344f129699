// CheckpointFile: the files of a checkpoint, which are its parts, in the format of docs/formats.md.
// Each file is written once, synced, and read back.
//
// A part is a header, blocks, and an end block that counts them. This module handles bytes and
// counts and does not depend on tables. The manifest says which parts make up a checkpoint, and
// whether the checkpoint is valid. A reader does not trust its input: each block has a position,
// and a checksum that is seeded with the database, the checkpoint and the part.
//
// Thread safety: a writer or a reader belongs to one thread at a time; several parts may be written
// or read at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "log/files.h"
#include "log/format.h"

namespace elider::log {

inline constexpr uint32_t kCheckpointVersion = 3;  // since 3, tables may have byte keys; versions 1 and 2 can still be read
inline constexpr size_t kCheckpointHeaderBytes = 64;
inline constexpr size_t kBlockHeaderBytes = 40;
// A writer ends a block or a part that has reached this size.
inline constexpr size_t kBlockBytesTarget = 1u << 20;
inline constexpr uint64_t kPartBytesTarget = 64u << 20;
inline constexpr size_t kBlockPayloadBytesMax = 64u << 20;

// The kind of a block says what its payload contains.
enum class BlockKind : uint32_t {
  kEnd = 0,        // the part is whole
  kTable = 1,      // a table's description
  kRows = 2,       // rows of one table
  kSizedRows = 3,  // rows of one table whose rows have variable sizes
  kKeyedRows = 4,  // rows of one table with byte keys
};

struct CheckpointBlock {
  BlockKind kind = BlockKind::kEnd;
  uint32_t table = 0;
  uint32_t count = 0;    // number of rows
  uint64_t offset = 0;   // of the block in its file
  Bytes payload;         // valid until the next call
};

// Returns the database that a part belongs to, according to the part's header. kCorrupt: the
// message describes the fault. kUnsupported: the message names an unknown version. The message does
// not name the file.
Status database_of_part(Bytes bytes, DatabaseId* database);

struct PartFacts {
  uint64_t blocks = 0, rows = 0, bytes = 0;
};

class PartWriter {
 public:
  // Creates the file. If a file was left over, empties it.
  static Status create(Folder& folder, const DatabaseId& database, const CheckpointName& name,
                       std::unique_ptr<PartWriter>* writer);
  // `block` has kBlockHeaderBytes of room before its payload. kInvalidArgument: the payload is too
  // large.
  Status append(BlockKind kind, uint32_t table, uint32_t count, std::span<std::byte> block);
  // Ends the part and syncs it. Nothing may be appended afterwards.
  Status finish();

  const PartFacts& facts() const { return facts_; }
  const std::string& path() const { return file_->path(); }

 private:
  PartWriter(std::unique_ptr<File> file, uint64_t seed) : file_(std::move(file)), seed_(seed) {}
  Status write(std::span<const std::byte> bytes);
  Status sync();

  const std::unique_ptr<File> file_;
  const uint64_t seed_;
  uint64_t unsynced_bytes_ = 0;
  PartFacts facts_;
};

class PartReader {
 public:
  // kNotFound, kCorrupt, kUnsupported, kIoError: the message names the file.
  static Status open(Folder& folder, const DatabaseId& database, const CheckpointName& name,
                     std::unique_ptr<PartReader>* reader);
  // Reads the next block. After the last one, returns a kEnd block if the part is whole. kCorrupt:
  // the message names the file and the offset. kMemoryLimit: memory is exhausted.
  Status next(CheckpointBlock* block);

  const PartFacts& facts() const { return facts_; }
  const std::string& path() const { return file_->path(); }

 private:
  PartReader(std::unique_ptr<File> file, uint64_t seed, uint64_t size) : file_(std::move(file)), seed_(seed), size_(size) {}
  Status read(uint64_t offset, std::span<std::byte> bytes);
  Status refuse(uint64_t offset, const std::string& words) const;
  Status check_end(const CheckpointBlock& block) const;

  const std::unique_ptr<File> file_;
  const uint64_t seed_;
  const uint64_t size_;
  std::unique_ptr<std::byte[]> buffer_;  // not set to zero, because it is filled from the file
  size_t buffer_bytes_ = 0;
  PartFacts facts_;
};

}  // namespace elider::log
