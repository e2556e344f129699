// The compiled part of the Python package elider. Python code in python/elider makes it convenient.
#include "python/src/tables.h"

NB_MODULE(_elider, module) {
  using namespace elider::python;
  // Objects that live until the interpreter ends are usual: databases in global variables.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = ELIDER_VERSION;
  bind_database(module);
  bind_tables(module);
  bind_scans(module);
  bind_arrow(module);
}
