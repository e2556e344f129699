// What texts on the command line mean: numbers, durations, sizes, files to write.
// Thread safety: pure functions, but for check_writable.
#pragma once

#include <cstdint>
#include <string>

namespace elider::tools {

// Checks for Option::checked: what is wrong, or nothing.
// All of it is a number from 0 to 2^64 - 1, in decimal. The parser alone would wrap or cut.
std::string check_whole_number(const std::string& text);
// A number of seconds above 0, up to a day.
std::string check_seconds(const std::string& text);
// A number above 0.
std::string check_positive(const std::string& text);

// 64K, 512M, 2G (powers of 1024) or plain bytes. False: it is none of these.
bool parse_bytes(const std::string& text, uint64_t* bytes);

// Ends the command where the option's file cannot be written ("" and "-" are none): before
// anything runs, and not after.
void check_writable(const char* option, const std::string& path);

}  // namespace elider::tools
