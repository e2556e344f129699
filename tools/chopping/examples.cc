#include "tools/chopping/examples.h"

#include <string>
#include <vector>

namespace elider::tools {

using chopping::Declaration;
using chopping::Operation;
using chopping::Procedure;

namespace {

using Names = std::vector<std::string>;

Names tpcc_infos() {
  Names names{"data"};
  for (const char* number : {"01", "02", "03", "04", "05", "06", "07", "08", "09", "10"}) names.push_back(std::string("info_") + number);
  return names;
}

// The customer's data and the columns that a NewOrder reads are in separate column groups.
// Otherwise a Payment, which writes the data, would conflict with a NewOrder.
std::vector<chopping::Table> tpcc_tables() {
  const Names address{"name", "street_1", "street_2", "city", "state", "zip", "tax"};
  return {
      {"warehouse", {address, {"ytd"}}},
      {"district", {address, {"next_order"}, {"ytd"}}},
      {"customer",
       {{"discount", "credit", "last", "first", "middle", "phone", "since", "credit_limit", "street_1", "street_2", "city", "state", "zip"},
        {"balance", "ytd_payment", "payment_count", "delivery_count"},
        {"data"}}},
      {"history", {{"amount", "customer", "data"}}},
      {"new_order", {{"undelivered"}}},
      {"order", {{"entry_date", "customer", "line_count", "all_local"}, {"carrier"}}},
      {"order_line", {{"item", "supply_warehouse", "quantity", "amount", "district_info"}, {"delivery_date"}}},
      {"item", {{"price", "name", "data"}}},
      {"stock", {{"quantity", "ytd", "order_count", "remote_count"}, tpcc_infos()}},
  };
}

}  // namespace

Declaration tpcc_declaration() {
  const Names counts{"quantity", "ytd", "order_count", "remote_count"};
  const Names who{"discount", "credit", "last"};
  const Procedure new_order{
      "new_order",
      {
          Operation("warehouse").reads("warehouse", {"tax"}).partition("warehouse"),
          Operation("customer").reads("customer", who).partition("warehouse"),
          Operation("items").reads("item").rolls_back(),
          Operation("stock_data").reads("stock", tpcc_infos()),
          Operation("district").reads("district", {"tax", "next_order"}).writes("district", {"next_order"}).partition("warehouse"),
          Operation("stock").reads("stock", counts).writes("stock", counts).needs({"items"}),
          Operation("order").inserts("order").fresh().token("new_order").needs({"district"}),
          Operation("order_lines").inserts("order_line").fresh().token("new_order").needs({"district", "items", "stock_data"}),
          Operation("new_order").inserts("new_order").fresh().needs({"district"}),
      }};
  const Procedure payment{"payment",
                          {
                              Operation("warehouse_name").reads("warehouse", {"name", "street_1", "street_2", "city", "state", "zip"}),
                              Operation("district_name").reads("district", {"name", "street_1", "street_2", "city", "state", "zip"}),
                              Operation("warehouse_ytd").adds("warehouse", {"ytd"}).partition("warehouse"),
                              Operation("district_ytd").adds("district", {"ytd"}).partition("warehouse"),
                              Operation("customer_found").reads("customer", {"first", "last", "credit"}),
                              Operation("customer")
                                  .reads("customer", {"balance"})
                                  .writes("customer", {"balance", "ytd_payment", "payment_count"})
                                  .needs({"customer_found"}),
                              Operation("customer_data").reads("customer", {"data"}).writes("customer", {"data"}).needs({"customer_found"}),
                              Operation("history").inserts("history").fresh().needs({"customer_found", "warehouse_name", "district_name"}),
                          }};
  const Procedure delivery{
      "delivery",
      {
          Operation("new_order").scans("new_order").removes("new_order"),
          Operation("order")
              .reads("order", {"customer", "line_count"})
              .token("new_order")
              .writes("order", {"carrier"})
              .token("new_order")
              .needs({"new_order"}),
          Operation("order_lines")
              .reads("order_line", {"amount"})
              .token("new_order")
              .writes("order_line", {"delivery_date"})
              .token("new_order")
              .needs({"order"}),
          Operation("customer").adds("customer", {"balance", "delivery_count"}).needs({"order", "order_lines"}).defers(),
      }};
  const Procedure order_status{"order_status",
                               {
                                   Operation("customer").reads("customer", {"first", "middle", "last", "balance"}),
                                   Operation("order").scans("order").needs({"customer"}),
                                   Operation("order_lines").scans("order_line").needs({"order"}),
                               }};
  const Procedure stock_level{"stock_level",
                              {
                                  Operation("district").reads("district", {"next_order"}),
                                  Operation("order_lines").scans("order_line", {"item"}).needs({"district"}),
                                  Operation("stock").reads("stock", {"quantity"}).needs({"order_lines"}),
                              }};
  return {tpcc_tables(), {new_order, payment, delivery, order_status, stock_level}};
}

Declaration articles_declaration() {
  Declaration all;
  all.tables = {{"users", {{"firstname", "email"}, {"lastname"}}},
                {"articles", {{"title", "text"}, {"comments_count"}}},
                {"comments", {{"article", "user", "text"}}}};
  all.procedures = {
      {"get_article", {Operation("article").reads("articles")}},
      {"get_comments", {Operation("article").reads("articles"), Operation("comments").scans("comments")}},
      {"add_comment",
       {
           Operation("user").reads("users", {"firstname"}),
           Operation("number").reads("articles", {"comments_count"}).writes("articles", {"comments_count"}),
           Operation("comment").inserts("comments").fresh().needs({"number"}),
       }},
      {"update_user", {Operation("user").writes("users", {"lastname"})}},
  };
  return all;
}

bool find_example(std::string_view name, Declaration* declaration) {
  if (name == "tpcc") return *declaration = tpcc_declaration(), true;
  if (name == "articles") return *declaration = articles_declaration(), true;
  return false;
}

}  // namespace elider::tools
