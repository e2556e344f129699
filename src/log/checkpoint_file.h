// Checkpoint files: a writer and a reader for the parts of a checkpoint. Each part is a file in the
// format of docs/formats.md; it is written once, synced, and read during recovery.
//
// A part consists of a header, blocks, and an end block with the number of blocks, rows and bytes.
// This module does not interpret the blocks' contents. The manifest lists the valid checkpoints and
// how many parts each has. A reader does not trust its input: each block contains its index in the
// part, and a checksum whose seed depends on the database, the checkpoint and the part.
//
// Thread safety: one thread at a time may use a writer or a reader. Several parts may be written or
// read concurrently.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "log/files.h"
#include "log/format.h"

namespace elider::log {

inline constexpr uint32_t kCheckpointVersion = 3;  // version 3 added byte keys; versions 1 and 2 can still be read
inline constexpr size_t kCheckpointHeaderBytes = 64;
inline constexpr size_t kBlockHeaderBytes = 40;
// The size at which the writer of a checkpoint ends a block or a part.
inline constexpr size_t kBlockBytesTarget = 1u << 20;
inline constexpr uint64_t kPartBytesTarget = 64u << 20;
inline constexpr size_t kBlockPayloadBytesMax = 64u << 20;

// The kind of data in a block's payload.
enum class BlockKind : uint32_t {
  kEnd = 0,        // the totals of a complete part
  kTable = 1,      // a table's description
  kRows = 2,       // rows of one table
  kSizedRows = 3,  // rows of one table whose rows have variable sizes
  kKeyedRows = 4,  // rows of one table with byte keys
};

struct CheckpointBlock {
  BlockKind kind = BlockKind::kEnd;
  uint32_t table = 0;
  uint32_t count = 0;    // number of rows
  uint64_t offset = 0;   // the block's offset in the file
  Bytes payload;         // valid until the next call to PartReader::next()
};

// Reads from a part's header which database the part belongs to. kCorrupt: the message describes
// the fault. kUnsupported: the message names the unknown format version. The messages do not name
// the file.
Status database_of_part(Bytes bytes, DatabaseId* database);

struct PartFacts {
  uint64_t blocks = 0, rows = 0, bytes = 0;
};

class PartWriter {
 public:
  // Creates the file and writes its header. An existing file, left over from a crash, is
  // overwritten.
  static Status create(Folder& folder, const DatabaseId& database, const CheckpointName& name,
                       std::unique_ptr<PartWriter>* writer);
  // Appends a block. The first kBlockHeaderBytes bytes of `block` are free for the header, and the
  // payload follows. kInvalidArgument: the payload is larger than kBlockPayloadBytesMax.
  Status append(BlockKind kind, uint32_t table, uint32_t count, std::span<std::byte> block);
  // Writes the end block and syncs the file. Nothing may be appended afterwards.
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
  // Opens a part and checks its header. kCorrupt (also if the file is missing), kUnsupported,
  // kIoError: the message names the file.
  static Status open(Folder& folder, const DatabaseId& database, const CheckpointName& name,
                     std::unique_ptr<PartReader>* reader);
  // Reads the next block. The last block of a complete part is a kEnd block. kCorrupt: the message
  // names the file and the offset. kMemoryLimit: memory for the payload is exhausted.
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
  std::unique_ptr<std::byte[]> buffer_;  // not zeroed, because it is filled from the file
  size_t buffer_bytes_ = 0;
  PartFacts facts_;
};

}  // namespace elider::log
