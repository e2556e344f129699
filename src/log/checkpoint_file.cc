#include "log/checkpoint_file.h"

#include <algorithm>
#include <array>
#include <new>

#include "base/bytes.h"
#include "base/checksum.h"
#include "base/status_words.h"
#include "base/test_points.h"

namespace elider::log {

namespace {

constexpr uint64_t kPartMagic = 0x31504b43444c45;  // "ELDCKP1" and a zero
constexpr uint32_t kBlockMagic = 0x4b4c4245;       // "EBLK"
constexpr size_t kEndBytes = 24;
// The file is synced after this many bytes, so that the sync at the end is short and hardly delays
// the log's own syncs.
constexpr uint64_t kSyncEveryBytes = 8u << 20;

uint64_t seed_of(const DatabaseId& database, const CheckpointName& name) {
  std::byte bytes[28];
  put(bytes, database[0]);
  put(bytes + 8, database[1]);
  put(bytes + 16, name.number);
  put(bytes + 24, name.part);
  return checksum(bytes, 1);
}

uint64_t block_checksum(Bytes header, Bytes payload, uint64_t seed) {
  return checksum(payload, checksum(header.first(kBlockHeaderBytes - 8), seed));
}

std::array<std::byte, kCheckpointHeaderBytes> encode_header(const DatabaseId& database, const CheckpointName& name) {
  std::array<std::byte, kCheckpointHeaderBytes> bytes{};
  put(bytes.data(), kPartMagic);
  put(bytes.data() + 8, kCheckpointVersion);
  put(bytes.data() + 12, name.part);
  put(bytes.data() + 16, database[0]);
  put(bytes.data() + 24, database[1]);
  put(bytes.data() + 32, name.number);
  put(bytes.data() + 56, checksum(Bytes(bytes).first(56), 0));
  return bytes;
}

Status check_header(Bytes bytes, const DatabaseId& database, const CheckpointName& name) {
  DatabaseId its_database{};
  if (Status status = database_of_part(bytes, &its_database); !status.ok()) return status;
  const CheckpointName there{get<uint64_t>(bytes.data() + 32), get<uint32_t>(bytes.data() + 12)};
  if (its_database != database) return Status(Code::kCorrupt, "the checkpoint belongs to another database");
  if (!(there == name)) return Status(Code::kCorrupt, "its header is that of " + file_name(there));
  if (get<uint64_t>(bytes.data() + 40) != 0 || get<uint64_t>(bytes.data() + 48) != 0)
    return Status(Code::kCorrupt, "the checkpoint's header has fields that this program does not know");
  return {};
}

}  // namespace

Status database_of_part(Bytes bytes, DatabaseId* database) {
  if (bytes.size() < kCheckpointHeaderBytes) return Status(Code::kCorrupt, "the checkpoint's header is cut short");
  if (get<uint64_t>(bytes.data()) != kPartMagic)
    return Status(Code::kCorrupt, "the checkpoint's header does not begin with its magic number");
  if (get<uint64_t>(bytes.data() + 56) != checksum(bytes.first(56), 0))
    return Status(Code::kCorrupt, "the checkpoint header's checksum does not match");
  if (Status status = check_version(get<uint32_t>(bytes.data() + 8), kCheckpointVersion); !status.ok()) return status;
  *database = {get<uint64_t>(bytes.data() + 16), get<uint64_t>(bytes.data() + 24)};
  return {};
}

// -- writing --------------------------------------------------------------------------------------

Status PartWriter::create(Folder& folder, const DatabaseId& database, const CheckpointName& name,
                          std::unique_ptr<PartWriter>* writer) {
  std::unique_ptr<File> file;
  if (Status status = folder.open(file_name(name), OpenMode::kCreateNew, &file); !status.ok()) return status;
  writer->reset(new PartWriter(std::move(file), seed_of(database, name)));
  return (*writer)->write(encode_header(database, name));
}

Status PartWriter::write(std::span<const std::byte> bytes) {
  if (Status status = file_->write_at(facts_.bytes, bytes); !status.ok()) return status;
  facts_.bytes += bytes.size();
  unsynced_bytes_ += bytes.size();
  if (unsynced_bytes_ < kSyncEveryBytes) return {};
  return sync();
}

// Also tells the system to drop the synced bytes from the page cache, so that a large checkpoint
// does not fill the cache.
Status PartWriter::sync() {
  if (Status status = file_->sync(); !status.ok()) return status;
  file_->forget(facts_.bytes - unsynced_bytes_, unsynced_bytes_);
  unsynced_bytes_ = 0;
  return {};
}

Status PartWriter::append(BlockKind kind, uint32_t table, uint32_t count, std::span<std::byte> block) {
  if (block.size() - kBlockHeaderBytes > kBlockPayloadBytesMax)
    return Status::invalid_argument("a checkpoint's block has " + std::to_string(block.size()) + " bytes, more than the format allows");
  std::byte* to = block.data();
  put(to, kBlockMagic);
  put(to + 4, static_cast<uint32_t>(block.size() - kBlockHeaderBytes));
  put(to + 8, facts_.blocks);
  put(to + 16, static_cast<uint32_t>(kind));
  put(to + 20, table);
  put(to + 24, count);
  put(to + 28, uint32_t{0});
  put(to + 32, block_checksum(block, Bytes(block).subspan(kBlockHeaderBytes), seed_));
  if (Status status = write(block); !status.ok()) return status;
  ++facts_.blocks;
  facts_.rows += count;
  return {};
}

Status PartWriter::finish() {
  std::byte end[kBlockHeaderBytes + kEndBytes];
  put(end + kBlockHeaderBytes, facts_.blocks);
  put(end + kBlockHeaderBytes + 8, facts_.rows);
  put(end + kBlockHeaderBytes + 16, facts_.bytes);
  if (Status status = append(BlockKind::kEnd, 0, 0, end); !status.ok()) return status;
  if (ELIDER_MUTANT(kPublishUnsynced)) return {};
  return sync();
}

// -- reading --------------------------------------------------------------------------------------

Status PartReader::open(Folder& folder, const DatabaseId& database, const CheckpointName& name,
                        std::unique_ptr<PartReader>* reader) {
  const std::string path = folder.path_of(file_name(name));
  std::unique_ptr<File> file;
  Status status = folder.open(file_name(name), OpenMode::kRead, &file);
  if (status.not_found())
    return Status(Code::kCorrupt, "'" + path + "' is missing; it is part of the checkpoint at number " + std::to_string(name.number));
  if (!status.ok()) return status;
  uint64_t size = 0;
  if (status = file->size(&size); !status.ok()) return status;
  std::byte header[kCheckpointHeaderBytes];
  size_t count = 0;
  if (status = file->read_at(0, header, &count); !status.ok()) return status;
  if (status = check_header(Bytes(header, count), database, name); !status.ok())
    return reworded(status.code(), "'" + path + "' at byte 0: ", status);
  reader->reset(new PartReader(std::move(file), seed_of(database, name), size));
  (*reader)->facts_.bytes = kCheckpointHeaderBytes;
  return {};
}

Status PartReader::refuse(uint64_t offset, const std::string& words) const {
  return Status(Code::kCorrupt, "'" + path() + "' at byte " + std::to_string(offset) + ": " + words);
}

Status PartReader::read(uint64_t offset, std::span<std::byte> bytes) {
  size_t count = 0;
  if (Status status = file_->read_at(offset, bytes, &count); !status.ok()) return status;
  return count == bytes.size() ? Status() : refuse(offset + count, "the file is cut short");
}

Status PartReader::next(CheckpointBlock* block) {
  const uint64_t at = facts_.bytes;
  std::byte header[kBlockHeaderBytes];
  if (Status status = read(at, header); !status.ok()) return status;
  const auto bytes = get<uint32_t>(header + 4);
  if (get<uint32_t>(header) != kBlockMagic)
    return refuse(at, "block " + std::to_string(facts_.blocks) + " does not begin with its magic number");
  // Checked before memory is allocated for the payload, because a damaged length may be huge.
  if (at + kBlockHeaderBytes > size_ || bytes > size_ - at - kBlockHeaderBytes)
    return refuse(at, "block " + std::to_string(facts_.blocks) + " extends past the end of the file");
  if (bytes > kBlockPayloadBytesMax) return refuse(at, "block " + std::to_string(facts_.blocks) + " is longer than the format allows");
  if (bytes > buffer_bytes_) {
    buffer_bytes_ = 0;
    const size_t wanted = std::max<size_t>(bytes, kBlockBytesTarget + (kBlockBytesTarget >> 2));
    buffer_.reset(new (std::nothrow) std::byte[wanted]);
    if (buffer_ == nullptr) return Status(Code::kMemoryLimit, "not enough memory for a block of '" + path() + "'");
    buffer_bytes_ = wanted;
  }
  const std::span<std::byte> payload(buffer_.get(), bytes);
  if (Status status = read(at + kBlockHeaderBytes, payload); !status.ok()) return status;
  if (get<uint64_t>(header + 32) != block_checksum(header, payload, seed_) && !ELIDER_MUTANT(kSkipFrameChecksum))
    return refuse(at, "the checksum of block " + std::to_string(facts_.blocks) + " does not match");
  if (get<uint64_t>(header + 8) != facts_.blocks)
    return refuse(at, "found block " + std::to_string(get<uint64_t>(header + 8)) + " instead of block " + std::to_string(facts_.blocks));
  *block = {static_cast<BlockKind>(get<uint32_t>(header + 16)), get<uint32_t>(header + 20), get<uint32_t>(header + 24), at, payload};
  if (block->kind == BlockKind::kEnd) {
    if (Status status = check_end(*block); !status.ok()) return status;
  } else if (block->kind != BlockKind::kTable && block->kind != BlockKind::kRows && block->kind != BlockKind::kSizedRows &&
             block->kind != BlockKind::kKeyedRows) {
    return refuse(at, "block " + std::to_string(facts_.blocks) + " is of an unknown kind");
  }
  if (get<uint32_t>(header + 28) != 0)
    return refuse(at, "the header of block " + std::to_string(facts_.blocks) + " has fields that this program does not know");
  facts_.bytes = at + kBlockHeaderBytes + bytes;
  ++facts_.blocks;
  facts_.rows += block->count;
  return {};
}

Status PartReader::check_end(const CheckpointBlock& block) const {
  if (block.payload.size() != kEndBytes) return refuse(block.offset, "the end block has a wrong length");
  if (block.table != 0 || block.count != 0) return refuse(block.offset, "the end block contains a table number or a row count");
  if (get<uint64_t>(block.payload.data()) != facts_.blocks || get<uint64_t>(block.payload.data() + 8) != facts_.rows ||
      get<uint64_t>(block.payload.data() + 16) != block.offset)
    return refuse(block.offset, "the file's number of blocks, rows or bytes differs from the number in its end block");
  if (block.offset + kBlockHeaderBytes + kEndBytes != size_)
    return refuse(block.offset + kBlockHeaderBytes + kEndBytes, "data follows the end block");
  return {};
}

}  // namespace elider::log
