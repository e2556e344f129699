// Figures of DBX's section 7.6 and of DBX-TC's 6.5: the cost of a log in TPC-C, and the time until
// a transaction is durable. All create their databases below StudyOptions::folder.
// Thread safety: one thread calls a study.
#pragma once

#include "lab/protocols/protocols.h"

namespace elider::bench::protocols {

Result<Figure> dbx_16(const StudyOptions& options);
Result<Figure> dbx_17(const StudyOptions& options);
Result<Figure> dbx_tc_13c(const StudyOptions& options);  // beside dbx_tc_13b, of chopping_studies.h

}  // namespace elider::bench::protocols
