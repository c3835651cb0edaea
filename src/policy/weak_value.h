#pragma once

#include <string>
#include <string_view>

namespace cloche {

// Why somebody could guess it: a program that uses a secret can have a server echo its guesses, and
// sees which one is covered. Empty: nobody could.
std::string WhyGuessable(std::string_view value);

}  // namespace cloche
