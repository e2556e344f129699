// read_code_pages(): reads a byte of each page of code and constants that regions use.
//
// A region cannot handle a page fault. It aborts, with a status that does not name the cause, and
// the page remains missing. If only regions run the code in that page, it is never paged in, and
// they abort every time. The fallback under the lock does not help, because it runs another copy of
// the section. This was seen on a Xeon whose system reclaims cold memory. Reading the page outside
// regions brings it back, except under a hypervisor that grants reads of a page before it grants
// execution.
//
// The function reads the read-only segments of the program or library that this file is linked
// into, and the start of memcpy. If the pages are resident, that takes a few microseconds per
// mebibyte. Thread safety: all threads may call all functions.
#pragma once

namespace elider::htm {

void read_code_pages();

// Called when a section took its lock after an abort with cause kSystem, which a missing page may
// have caused. Reads the pages when the number of a thread's calls is a power of two, and at every
// 256th call. It does not read them at each call, because interrupts cause the same status and are
// frequent.
void read_code_pages_now_and_then();

}  // namespace elider::htm
