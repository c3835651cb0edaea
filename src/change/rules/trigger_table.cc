#include <vector>

#include "change/rules/trigger_tables.h"

namespace cloche::rules {

using enum Judge;

std::span<const TriggerClass> TriggerTable() {
  static const std::vector<TriggerClass> table = [] {
    std::vector<TriggerClass> all;
    for (const auto part : {ProjectTriggers(), BuildTriggers(), EditorTriggers(), OtherTriggers(),
                            HomeTriggers(), SystemTriggers()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return table;
}

std::string_view JudgeText(Judge judge) {
  switch (judge) {
    case kKeys:
      return "a new value of one of its keys";
    case kScript:
      return "any line but comments, new, gone or moved";
    case kLiteralCode:
      return "a new line but comments, literals and names with versions";
    case kToolCode:
      return "a new line that starts a process, speaks to the network or evaluates text";
    case kMake:
      return "a new recipe line, `$(shell)`, include, or value of a variable that names a command";
    case kCMake:
      return "a new call that runs or fetches something; versions are data";
    case kDocker:
      return "a new instruction that runs or fetches something, another image";
    case kLock:
      return "a new source; a checksum that is gone, or differs for the same version";
    case kGitAttributes:
      return "a driver or filter that git does not have itself";
    case kPackedRefs:
      return "a new ref below `refs/replace/`";
    case kGitLink:
      return "a new repository below the project; a `.git` that is a file or a link";
    case kPathFile:
      return "a new line that begins with `import`";
    case kBinDirectory:
      return "a new or changed executable file or link";
    case kAgentText:
      return "a new line with `` !`command` ``; a new key before the text that is more than a name "
             "or a description";
    case kAny:
      return "any change";
    case kNotice:
      return "never";
    case kExecutable:
      return "a binary program, another interpreter, the name of a common command, setuid";
    case kUnseen:
      return "a new line or name with bidirectional or invisible characters; a name taken for "
             "`.git`";
  }
  return "";
}

}  // namespace cloche::rules
