// The rows that tests use, and their schemas.
//
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "elider/elider.h"

namespace elider::test {

struct Account {
  uint64_t owner = 0;
  int64_t balance = 0;
  uint32_t branch = 0;
  uint32_t flags = 0;
  friend bool operator==(const Account&, const Account&) = default;
};

inline SchemaOf<Account> account_schema(KeyIndex key_index, std::string name = "accounts") {
  SchemaOf<Account> schema(std::move(name));
  schema.key_index(key_index)
      .column("owner", &Account::owner)
      .column("balance", &Account::balance)
      .column("branch", &Account::branch)
      .column("flags", &Account::flags);
  return schema;
}

// The balance and the flags each have a commit word of their own.
inline SchemaOf<Account> grouped_account_schema(KeyIndex key_index, std::string name = "accounts") {
  return account_schema(key_index, std::move(name)).group({"balance"}).group({"flags"});
}

// "by_branch" finds many accounts a value, "by_owner" one.
inline SchemaOf<Account> indexed_account_schema(KeyIndex key_index, std::string name = "accounts") {
  return account_schema(key_index, std::move(name))
      .index("by_branch", {"branch"}, [](const Account& account) { return uint64_t{account.branch}; })
      .unique_index("by_owner", {"owner"}, [](const Account& account) { return account.owner; });
}

// One column of every numeric type.
struct Numbers {
  int8_t i8 = 0;
  uint8_t u8 = 0;
  int16_t i16 = 0;
  uint16_t u16 = 0;
  int32_t i32 = 0;
  uint32_t u32 = 0;
  int64_t i64 = 0;
  uint64_t u64 = 0;
  float f32 = 0;
  double f64 = 0;
  std::array<char, 8> text{};
  friend bool operator==(const Numbers&, const Numbers&) = default;
};

inline SchemaOf<Numbers> numbers_schema(KeyIndex key_index) {
  SchemaOf<Numbers> schema("numbers");
  schema.key_index(key_index)
      .column("i8", &Numbers::i8)
      .column("u8", &Numbers::u8)
      .column("i16", &Numbers::i16)
      .column("u16", &Numbers::u16)
      .column("i32", &Numbers::i32)
      .column("u32", &Numbers::u32)
      .column("i64", &Numbers::i64)
      .column("u64", &Numbers::u64)
      .column("f32", &Numbers::f32)
      .column("f64", &Numbers::f64)
      .column("text", &Numbers::text);
  return schema;
}

// A row whose body is above the default block threshold, so that a commit swaps it by pointer.
struct Document {
  uint64_t revision = 0;
  uint64_t readers = 0;
  std::array<uint64_t, 600> body{};
  friend bool operator==(const Document&, const Document&) = default;
};

inline Document document_of(uint64_t revision) {
  Document document{revision, 0, {}};
  document.body.fill(revision);
  return document;
}

// The counter of readers has its own column group, which is small and is updated in place.
inline SchemaOf<Document> document_schema(KeyIndex key_index) {
  SchemaOf<Document> schema("documents");
  schema.key_index(key_index)
      .column("revision", &Document::revision)
      .column("readers", &Document::readers)
      .column("body", &Document::body)
      .group({"readers"});
  return schema;
}

}  // namespace elider::test
