// read_code_pages(): reads a byte of each page of code and constants that regions use.
//
// A region cannot handle a page fault: it aborts, with a status that does not name the cause, and
// the page stays missing. If only regions run that code, it is never paged in, and they abort
// forever; the fallback under the lock does not help, because it runs another copy of the section.
// This was seen on a Xeon with a system that reclaims cold memory. Reading the page outside regions
// brings it back, except under a hypervisor that grants reads of a page before it grants execution.
//
// The function reads the read-only segments of the program or library that this file is linked
// into, and the start of memcpy. That takes a few microseconds per mebibyte if the pages are
// resident. Thread safety: all threads may call all functions.
#pragma once

namespace elider::htm {

void read_code_pages();

// Called when a run took its lock after an abort with cause kSystem, which a missing page may have
// caused. Reads the pages at each power of two of a thread's calls, and at every 256th call. It
// does not read them each time, because interrupts cause the same status and are frequent.
void read_code_pages_now_and_then();

}  // namespace elider::htm
