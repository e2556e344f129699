// Options, opening, closing, durability and statistics of the C interface.
#include "c/handles.h"
#include "elider/option_table.h"

using elider::Status;
using elider::c::entry;
using elider::c::refuse_null;

extern "C" {

uint32_t elider_c_version(void) { return ELIDER_C_VERSION; }
const char* elider_version(void) { return ELIDER_VERSION; }

elider_options* elider_options_new(void) try { return new elider_options; } catch (const std::bad_alloc&) {
  return nullptr;
}
void elider_options_free(elider_options* options) { delete options; }
elider_code elider_options_set(elider_options* options, const char* name, const char* text, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (options == nullptr) return refuse_null("the options");
    if (name == nullptr || text == nullptr) return refuse_null("the name or the text of the option");
    return elider::set_option(options->options, name, text);
  });
}
elider_code elider_options_text(const elider_options* options, const char* name, char** text, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (options == nullptr) return refuse_null("the options");
    if (name == nullptr || text == nullptr) return refuse_null("the name or the text of the option");
    if (elider::find_option(name) == nullptr) return Status::invalid_argument("unknown option '" + std::string(name) + "'");
    return elider::c::copy_text(elider::option_text(options->options, name), text);
  });
}

elider_code elider_open(const char* folder, const elider_options* options, elider_database** database, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the place for the database");
    *database = nullptr;
    elider::Options chosen = options == nullptr ? elider::Options() : options->options;
    if (folder != nullptr) {
      if (!chosen.data_folders.empty()) return Status::invalid_argument("elider_open() got a folder, and the option data_folders is set");
      if (*folder == '\0') return Status::invalid_argument("elider_open(): the folder has an empty name; NULL opens a database in memory");
      chosen.data_folders.emplace_back(folder);
    }
    auto opened = elider::Database::open(chosen);
    if (!opened.ok()) return opened.status();
    *database = new elider_database(*std::move(opened));
    return {};
  });
}

elider_code elider_close(elider_database* database, elider_error* error) {
  if (database == nullptr) return ELIDER_OK;
  bool refused = false;
  const elider_code code = entry(error, [&]() -> Status {
    // relaxed: see elider_database::in_use
    const uint64_t in_use = database->in_use.load(std::memory_order_relaxed);
    refused = in_use != 0 || elider::c::Running::in_this_thread(*database);
    if (!refused) return database->database.wait_durable();
    return Status::invalid_argument("elider_close(): " + std::to_string(in_use) +
                                    " transactions, cursors or snapshots are not freed, or a transaction is running");
  });
  if (!refused) delete database;
  return code;
}

elider_code elider_wait_durable(elider_database* database, uint64_t commit_number, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    return commit_number == UINT64_MAX ? database->database.wait_durable() : database->database.wait_durable(commit_number);
  });
}
elider_code elider_when_durable(elider_database* database, uint64_t commit_number, elider_told told, void* context, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    if (told == nullptr) return refuse_null("the callback");
    database->database.when_durable(commit_number, [told, context](const Status& status) {
      elider_error its;
      told(elider::c::report(&its, Status(status)), &its, context);
    });
    return {};
  });
}
elider_code elider_checkpoint(elider_database* database, elider_error* error) {
  return entry(error, [&]() -> Status { return database == nullptr ? refuse_null("the database") : database->database.checkpoint(); });
}
elider_code elider_backup(elider_database* database, const char* folder, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    if (folder == nullptr) return refuse_null("the folder");
    return database->database.backup(folder);
  });
}
elider_code elider_statistics_json(elider_database* database, char** json, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    if (json == nullptr) return refuse_null("the place for the statistics");
    return elider::c::copy_text(database->database.statistics().to_json(), json);
  });
}
elider_code elider_verify(elider_database* database, elider_error* error) {
  return entry(error, [&]() -> Status { return database == nullptr ? refuse_null("the database") : database->database.verify(); });
}

elider_code elider_sequence_find(elider_database* database, const char* name, uint64_t start, uint32_t chunk, elider_sequence** sequence,
                                 elider_error* error) {
  return entry(error, [&]() -> Status {
    if (database == nullptr) return refuse_null("the database");
    if (name == nullptr || sequence == nullptr) return refuse_null("the name of the sequence or the place for it");
    *sequence = nullptr;
    elider::SequenceOptions options;
    if (start != 0) options.start = start;
    if (chunk != 0) options.chunk = chunk;
    const auto found = database->database.sequence(name, options);
    if (!found.ok()) return found.status();
    const std::lock_guard lock(database->mutex);
    auto& place = database->sequences[name];
    if (place == nullptr) place = std::make_unique<elider_sequence>(*found);
    *sequence = place.get();
    return {};
  });
}
elider_code elider_sequence_next(elider_sequence* sequence, uint64_t* number, elider_error* error) {
  return entry(error, [&]() -> Status {
    if (sequence == nullptr || number == nullptr) return refuse_null("the sequence or the place for the number");
    const auto next = sequence->sequence.next();
    if (next.ok()) *number = *next;
    return next.status();
  });
}
elider_code elider_sequence_at_least(elider_sequence* sequence, uint64_t number, elider_error* error) {
  return entry(error, [&]() -> Status {
    return sequence == nullptr ? refuse_null("the sequence") : sequence->sequence.at_least(number);
  });
}

}  // extern "C"
