// Parses and checks values from the command line: numbers, durations, sizes and output files.
// Thread safety: pure functions, except check_writable.
#pragma once

#include <cstdint>
#include <string>

namespace elider::tools {

// The following functions are checks for Option::checked. They return a description of the error,
// or "".
//
// Checks that the text is a decimal number from 0 to 2^64 - 1. The parser alone would wrap or
// truncate other numbers.
std::string check_whole_number(const std::string& text);
// Checks that the text is a number of seconds above 0, up to one day.
std::string check_seconds(const std::string& text);
// Checks that the text is a number above 0.
std::string check_positive(const std::string& text);

// Parses 64K, 512M, 2G (powers of 1024) or plain bytes. Returns false if the text is malformed.
bool parse_bytes(const std::string& text, uint64_t* bytes);

// Ends the command before it runs if the option's file cannot be written. "" and "-" are not files.
void check_writable(const char* option, const std::string& path);

}  // namespace elider::tools
