// Figures of DBX-TC, sections 6.3 to 6.7. The figures of TPC-C compare chopped transactions with
// whole ones, and show the effects of snapshots, of a log and of other parts. One figure compares
// the protocols under the benchmark Articles. If this machine supports hardware transactions, some
// series use them. Thread safety: one thread calls a study.
#pragma once

#include "lab/protocols/protocols.h"

namespace elider::bench::protocols {

Result<Figure> dbx_tc_12(const StudyOptions& options);
Result<Figure> dbx_tc_13a(const StudyOptions& options);
Result<Figure> dbx_tc_13b(const StudyOptions& options);  // creates its databases in StudyOptions::folder
Result<Figure> dbx_tc_14(const StudyOptions& options);
Result<Figure> dbx_tc_15(const StudyOptions& options);

}  // namespace elider::bench::protocols
