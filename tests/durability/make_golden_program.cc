// Writes the files of a golden database, as the engine writes them today.
// tests/golden/database-v1 was made by it once, and stays; to be run again, into a folder beside
// that, where a format has changed.
//
// With --keys, writes a folder like database-v3-keys, and with --rows one like database-v3-rows.
//
//   durability_make_golden FOLDER [--keys|--rows]
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/durability/golden_database.h"
#include "tests/durability/golden_rows.h"

int main(int count, char** words) {
  using namespace elider;
  const bool keys = count == 3 && std::strcmp(words[2], "--keys") == 0;
  const bool rows = count == 3 && std::strcmp(words[2], "--rows") == 0;
  if (count != 2 && !keys && !rows) {
    std::fprintf(stderr, "usage: durability_make_golden FOLDER [--keys|--rows]\n");
    return 2;
  }
  Status status;
  for (const auto& [path, bytes] : rows ? golden::golden_rows(&status) : golden::golden_database(&status, keys)) {
    std::filesystem::create_directories(words[1]);
    std::ofstream file(std::filesystem::path(words[1]) / std::filesystem::path(path).filename(), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush()) status = Status(Code::kIoError, "cannot write '" + path + "'");
  }
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
