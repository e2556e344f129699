// Figures of DBX-TC, sections 6.3 to 6.7: transactions in pieces compared with whole ones; the
// effect of snapshots, of a log and of each other part on them; and Articles. If this machine has
// hardware transactions, they are among the lines.
// Thread safety: one thread calls a study.
#pragma once

#include "lab/protocols/protocols.h"

namespace elider::bench::protocols {

Result<Figure> dbx_tc_12(const StudyOptions& options);
Result<Figure> dbx_tc_13a(const StudyOptions& options);
Result<Figure> dbx_tc_13b(const StudyOptions& options);  // its databases are below StudyOptions::folder
Result<Figure> dbx_tc_14(const StudyOptions& options);
Result<Figure> dbx_tc_15(const StudyOptions& options);

}  // namespace elider::bench::protocols
