#include <ios>

// CLI11 includes <iostream>, which makes eight streams and their locale at every start: a dozen
// page faults, for something this program never uses (it writes with write(2)). These take the
// place of libstdc++'s; a stream used by mistake would fail to link or write nothing.
std::ios_base::Init::Init() {}
std::ios_base::Init::~Init() {}
