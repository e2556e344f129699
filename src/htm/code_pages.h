// read_code_pages(): reads a byte of each page of the code and constants that regions use.
//
// A page fault aborts a region, with a status that does not name the cause, and the page remains
// unmapped. If only regions execute the code in that page, the page is never mapped, and all of
// these regions abort. The fallback under the lock does not help, because it executes another copy
// of the section's code. This was observed on a Xeon whose operating system reclaims cold memory.
// Reading the page outside regions maps it again, except under a hypervisor that grants reads of a
// page before it grants execution.
//
// The function reads the read-only segments of the program or library that this file is linked
// into, and the start of memcpy. If the pages are resident, that takes a few microseconds per
// mebibyte. Thread safety: all threads may call all functions.
#pragma once

namespace elider::htm {

void read_code_pages();

// Called when a section took its lock after an abort with cause kSystem, which an unmapped page may
// have caused. Reads the pages at a thread's 1st, 2nd, 4th, 8th, ... call, and at every 256th. It
// does not read them at each call, because interrupts cause the same status and are frequent.
void read_code_pages_now_and_then();

}  // namespace elider::htm
