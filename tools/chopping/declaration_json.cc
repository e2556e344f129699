#include "tools/chopping/declaration_json.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace elider::tools {

namespace {

using chopping::Access;
using chopping::AccessKind;
using chopping::Declaration;
using chopping::Operation;
using chopping::Procedure;

// An error in the document. `words` names the position of the error.
struct Wrong {
  std::string words;
};

const Json& at(const Json& object, const char* name, const std::string& where) {
  if (!object.is_object()) throw Wrong{where + " is not an object"};
  const auto found = object.find(name);
  if (found == object.end()) throw Wrong{fmt::format("{} does not have a \"{}\"", where, name)};
  return *found;
}
std::string text_of(const Json& value, const std::string& where) {
  if (!value.is_string()) throw Wrong{where + " is not a string"};
  return value.get<std::string>();
}
const Json& list_of(const Json& value, const std::string& where) {
  if (!value.is_array()) throw Wrong{where + " is not an array"};
  return value;
}
bool truth_of(const Json& value, const std::string& where) {
  if (!value.is_boolean()) throw Wrong{where + " is not true or false"};
  return value.get<bool>();
}
std::vector<std::string> texts_of(const Json& value, const std::string& where) {
  std::vector<std::string> texts;
  for (const Json& each : list_of(value, where)) texts.push_back(text_of(each, fmt::format("{}[{}]", where, texts.size())));
  return texts;
}

Access read_access(const Json& json, const std::string& where) {
  Access access;
  bool kind = false;
  if (!json.is_object()) throw Wrong{where + " is not an object"};
  for (const auto& [name, value] : json.items()) {
    const std::string here = where + "." + name;
    AccessKind named;
    if (chopping::parse(name, &named)) {
      if (kind) throw Wrong{where + " names two kinds of access"};
      kind = true;
      access.kind = named;
      access.table = text_of(value, here);
    } else if (name == "columns") {
      access.columns = texts_of(value, here);
    } else if (name == "fresh") {
      access.fresh = truth_of(value, here);
    } else if (name == "token") {
      access.token = text_of(value, here);
    } else if (name == "partition") {
      access.partition = text_of(value, here);
    } else {
      throw Wrong{
          fmt::format("{} is unknown: an access has one of read, write, add, insert, remove and scan, and may have columns, fresh, token "
                      "and partition",
                      here)};
    }
  }
  if (!kind) throw Wrong{where + " does not name a kind of access: read, write, add, insert, remove or scan"};
  return access;
}

Operation read_operation(const Json& json, const std::string& where) {
  Operation operation(text_of(at(json, "name", where), where + ".name"));
  for (const auto& [name, value] : json.items()) {
    const std::string here = where + "." + name;
    if (name == "name") continue;
    if (name == "needs")
      operation.after = texts_of(value, here);
    else if (name == "rolls_back")
      operation.may_roll_back = truth_of(value, here);
    else if (name == "deferred")
      operation.deferred = truth_of(value, here);
    else if (name == "accesses")
      for (const Json& each : list_of(value, here))
        operation.accesses.push_back(read_access(each, fmt::format("{}[{}]", here, operation.accesses.size())));
    else
      throw Wrong{fmt::format("{} is unknown: an operation has name, accesses, needs, rolls_back and deferred", here)};
  }
  return operation;
}

Declaration read_document(const Json& json) {
  Declaration declaration;
  for (const Json& each : list_of(at(json, "tables", "the document"), "tables")) {
    const std::string where = fmt::format("tables[{}]", declaration.tables.size());
    chopping::Table table{text_of(at(each, "name", where), where + ".name"), {}};
    if (const auto groups = each.find("groups"); groups != each.end())
      for (const Json& group : list_of(*groups, where + ".groups"))
        table.groups.push_back(texts_of(group, fmt::format("{}.groups[{}]", where, table.groups.size())));
    declaration.tables.push_back(std::move(table));
  }
  for (const Json& each : list_of(at(json, "procedures", "the document"), "procedures")) {
    const std::string where = fmt::format("procedures[{}]", declaration.procedures.size());
    Procedure procedure{text_of(at(each, "name", where), where + ".name"), {}};
    for (const Json& operation : list_of(at(each, "operations", where), where + ".operations"))
      procedure.operations.push_back(read_operation(operation, fmt::format("{}.operations[{}]", where, procedure.operations.size())));
    declaration.procedures.push_back(std::move(procedure));
  }
  return declaration;
}

}  // namespace

Result<Declaration> read_declaration(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::invalid_argument("'" + path + "' cannot be read");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  try {
    return read_document(Json::parse(text));
  } catch (const Wrong& wrong) {
    return Status::invalid_argument("'" + path + "': " + wrong.words);
  } catch (const Json::exception& error) {
    return Status::invalid_argument("'" + path + "': " + error.what());
  }
}

Json to_json(const Declaration& declaration) {
  Json tables = Json::array(), procedures = Json::array();
  for (const chopping::Table& table : declaration.tables) tables.push_back({{"name", table.name}, {"groups", table.groups}});
  for (const Procedure& procedure : declaration.procedures) {
    Json operations = Json::array();
    for (const Operation& operation : procedure.operations) {
      Json accesses = Json::array();
      for (const Access& access : operation.accesses) {
        Json json = {{std::string(name_of(access.kind)), access.table}};
        if (!access.columns.empty()) json["columns"] = access.columns;
        if (access.fresh) json["fresh"] = true;
        if (!access.token.empty()) json["token"] = access.token;
        if (!access.partition.empty()) json["partition"] = access.partition;
        accesses.push_back(std::move(json));
      }
      Json json = {{"name", operation.name}, {"accesses", std::move(accesses)}};
      if (!operation.after.empty()) json["needs"] = operation.after;
      if (operation.may_roll_back) json["rolls_back"] = true;
      if (operation.deferred) json["deferred"] = true;
      operations.push_back(std::move(json));
    }
    procedures.push_back({{"name", procedure.name}, {"operations", std::move(operations)}});
  }
  return {{"tables", std::move(tables)}, {"procedures", std::move(procedures)}};
}

}  // namespace elider::tools
