#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cloche {

// Decoy credentials in the places where agents look: nobody has a reason to send one anywhere.
// docs/canaries.md.

struct Decoy {
  std::string kind;   // "aws-secret-key"
  std::string value;  // as it stands in its file
  bool operator==(const Decoy&) const = default;
};

// The key "canaries" of a request: true, or as the daemon writes it down, the decoys themselves.
struct CanaryRequest {
  bool wanted = false;
  std::vector<Decoy> decoys;  // given by the daemon
  bool operator==(const CanaryRequest&) const = default;
};

class FieldReader;
void ReadCanaries(FieldReader& reader, CanaryRequest& out);
nlohmann::json CanariesToJson(const CanaryRequest& canaries);

inline constexpr size_t kDecoyRandom = 512;
// Makes them from kDecoyRandom bytes that nobody can guess.
std::vector<Decoy> MakeDecoys(std::string_view random);

// The unique part of a decoy, which the border looks for.
std::string MarkOf(const Decoy& decoy);

struct DecoyFile {
  std::string path;         // below the home, or the project
  bool of_project = false;  // only in the place of a file that is hidden there
  std::string content;
  std::vector<std::string> kinds;
};
std::vector<DecoyFile> DecoyFiles(const std::vector<Decoy>& decoys);

// A decoy as it was placed: for `cloche explain` and `cloche show`.
struct DecoyPlace {
  std::string path;
  std::vector<std::string> kinds;
  bool instead = false;  // only if there is such a file
  bool operator==(const DecoyPlace&) const = default;
};
nlohmann::ordered_json DecoysToJson(const std::vector<DecoyPlace>& places);

}  // namespace cloche
