// read_code_pages(): reads a byte of each page of the code, and of the constants,
// that regions run through.
//
// A region takes no page fault: it aborts, with a status that says nothing, and the page stays
// away. Code that only regions run is then brought in by nobody, and they abort for ever, while the
// same section under its lock is another copy of it: seen on a Xeon, where a system that reclaims
// cold memory takes such pages away. A read of the page outside of regions brings it back; not
// where a hypervisor lets pages be read that it first wants to see executed.
//
// What is read: the segments that are only read of the program or library that this is linked into,
// and the begin of memcpy: some microseconds a mebibyte, if it is there. Thread safety: all.
#pragma once

namespace elider::htm {

void read_code_pages();

// A run took its lock after an abort by the system, which may have been such a page. For
// each power of two of a thread's, and every 256th, reads them: interrupts are as
// silent, and come all the time.
void read_code_pages_now_and_then();

}  // namespace elider::htm
