// Figures of DBX (sections 6.2 and 7.2 to 7.5) and of yDB that can be measured without hardware
// transactions. If this machine supports hardware transactions, some series use them. Figures about
// aborts of hardware transactions are in lab/htm. Thread safety: one thread calls a study.
#pragma once

#include "lab/protocols/protocols.h"

namespace elider::bench::protocols {

Result<Figure> dbx_5(const StudyOptions& options);
Result<Figure> dbx_6(const StudyOptions& options);
Result<Figure> dbx_6_2(const StudyOptions& options);
Result<Figure> dbx_7(const StudyOptions& options);
Result<Figure> dbx_8(const StudyOptions& options);
Result<Figure> dbx_11(const StudyOptions& options);
Result<Figure> dbx_12(const StudyOptions& options);
Result<Figure> dbx_13(const StudyOptions& options);
Result<Figure> dbx_14(const StudyOptions& options);
Result<Figure> ydb(const StudyOptions& options);  // ydb_study.cc

}  // namespace elider::bench::protocols
