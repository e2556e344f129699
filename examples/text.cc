// Text in rows of fixed size: finding rows by name, reading a list page by page, and storing notes
// of any length as values. examples/customers.cc shows structs with text of any length.
//
// The keys of these tables, and the values of their indexes, are 64-bit numbers. Therefore, rows
// are found through an index on a hash of the whole text, and the text in the row is then compared.
// An index on the first 8 bytes of the text would be slow if many texts begin in the same way
// ("https://", "user-000"), because a lookup would read all of their rows.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "elider/elider.h"

using elider::IndexPosition;
using elider::IndexRange;
using elider::Key;
using elider::Result;
using elider::Status;
using elider::Transaction;
using elider::View;

struct User {
  char name[56];
  uint32_t city;
  uint32_t logins;
};

namespace {

constexpr Key kUsers = 1000;
constexpr uint32_t kCities = 3;
constexpr size_t kNoteBytesMax = 4096;

std::string_view text_of(const User& user) { return {user.name, strnlen(user.name, sizeof user.name)}; }
// An index is rebuilt each time the database opens, so this hash function may differ between builds
// of the program. A hash function that computes keys must not change.
uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

struct Tables {
  elider::Table<User> users;
  elider::Index<User> by_name, by_city;
  elider::ValueTable<> notes;
};

elider::SchemaOf<User> users() {
  return elider::SchemaOf<User>("users")
      .column("name", &User::name)
      .column("city", &User::city)
      .column("logins", &User::logins)
      .index("by_name", {"name"}, [](const User& user) { return hash_of(text_of(user)); })
      .index("by_city", {"city"}, [](const User& user) { return uint64_t{user.city}; });
}

elider::ValueSchema<> notes() { return elider::ValueSchema("notes").value_bytes_max(kNoteBytesMax); }

// Returns the key of the user with this name, or kNotFound.
Result<Key> find(Transaction& txn, const Tables& tables, std::string_view name) {
  const uint64_t hash = hash_of(name);
  bool found = false;
  Key key = 0;
  ELIDER_TRY(txn.scan(tables.by_name, {hash, hash}, {}, [&](Key candidate, const View<User>& user) {
    if (text_of(*user) != name) return true;  // another name with the same hash
    found = true;
    key = candidate;
    return false;
  }));
  if (!found) return Status(elider::Code::kNotFound, "no user has this name");
  return key;
}

// Names are unique: if another transaction inserts the same name concurrently, it conflicts with
// the scan above.
Status add(Transaction& txn, const Tables& tables, Key key, std::string_view name, uint32_t city) {
  User user{};
  if (name.size() > sizeof user.name) return Status::invalid_argument("the name is too long");
  const auto known = find(txn, tables, name);
  if (known.ok()) return Status(elider::Code::kDuplicateKey, "another user has this name");
  if (!known.status().not_found()) return known.status();
  std::memcpy(user.name, name.data(), name.size());
  user.city = city;
  return txn.insert(tables.users, key, user);
}

// Counts the users of a city page by page, each page in its own transaction. Because many users
// share a city, the next page begins after a position, which consists of a city and a key.
Status count_in_pages(elider::Database& db, const Tables& tables, uint32_t city, size_t* users, size_t* pages) {
  IndexRange rest(city, city);
  for (;;) {
    std::vector<IndexPosition> page;
    ELIDER_TRY(db.run_read_only([&](Transaction& txn) {
      page.clear();  // the procedure may run more than once
      return txn.scan(tables.by_city, rest, {.limit = 100}, [&](IndexPosition at, const View<User>&) { page.push_back(at); });
    }));
    if (page.empty()) return {};
    *users += page.size();
    *pages += 1;
    rest = rest.after(page.back());
  }
}

Result<std::string> read_note(Transaction& txn, const Tables& tables, Key user) {
  ELIDER_ASSIGN(const auto note, txn.get(tables.notes, user));
  return std::string(note.text());
}

Status run() {
  elider::Options options;
  options.schemas = {users()};
  ELIDER_ASSIGN(auto db, elider::Database::open(options));
  Tables tables;
  ELIDER_ASSIGN(tables.users, db.table<User>("users"));
  ELIDER_ASSIGN(tables.by_name, db.index(tables.users, "by_name"));
  ELIDER_ASSIGN(tables.by_city, db.index(tables.users, "by_city"));
  ELIDER_ASSIGN(tables.notes, db.create_table(notes()));

  for (Key key = 0; key < kUsers; ++key)
    ELIDER_TRY(db.run([&](Transaction& txn) {
      return add(txn, tables, key, "https://example.org/users/" + std::to_string(key), static_cast<uint32_t>(key % kCities));
    }));
  const Status again = db.run([&](Transaction& txn) { return add(txn, tables, kUsers, "https://example.org/users/7", 0); });
  Key seven = 0;
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    ELIDER_ASSIGN(seven, find(txn, tables, "https://example.org/users/7"));
    return txn.add(tables.users, seven, &User::logins, 1u);
  }));

  size_t counted = 0, pages = 0;
  for (uint32_t city = 0; city < kCities; ++city) ELIDER_TRY(count_in_pages(db, tables, city, &counted, &pages));

  const std::string letter(3000, 'x');
  std::string first, second;
  ELIDER_TRY(db.run([&](Transaction& txn) -> Status {
    ELIDER_TRY(txn.put(tables.notes, seven, "short"));
    ELIDER_ASSIGN(first, read_note(txn, tables, seven));
    ELIDER_TRY(txn.put(tables.notes, seven, letter));
    ELIDER_ASSIGN(second, read_note(txn, tables, seven));
    return {};
  }));

  std::printf("user 7 has key %llu; added again: %s\n", static_cast<unsigned long long>(seven), again.message().c_str());
  std::printf("%zu users on %zu pages; notes of %zu and %zu bytes\n", counted, pages, first.size(), second.size());
  const bool right = seven == 7 && again.code() == elider::Code::kDuplicateKey && counted == kUsers && pages == 4 * kCities &&
                     first == "short" && second == letter;
  return right ? Status() : Status::invalid_argument("the example computed unexpected results");
}

}  // namespace

int main() {
  const Status status = run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
