#include "change/rules/cases.h"

#include <array>

namespace cloche::rules {
namespace {

using enum Incoming;
using enum Real;
using enum Verdict;
using enum Reason;

constexpr std::array<Case, (kIncomings * kReals)> kTable = {
    Case{kAdd, kUnknown, "P-ADD-UNKNOWN", kRefuse, kCannotTell},
    Case{kAdd, kParentSymlink, "P-ADD-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kAdd, kParentFile, "P-ADD-PARENT-FILE", kConflict, kInTheWay},
    Case{kAdd, kParentMissing, "P-ADD-NO-PARENT", kConflict, kNoDirectory},
    Case{kAdd, kMountPoint, "P-ADD-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kAdd, kCaseCollision, "P-ADD-CASE", kConflict, kCollision},
    Case{kAdd, kUnicodeCollision, "P-ADD-UNICODE", kConflict, kCollision},
    Case{kAdd, kSame, "P-ADD-SAME", kSkip, kNone},
    Case{kAdd, kImmutable, "P-ADD-IMMUTABLE", kRefuse, kNoRight},
    Case{kAdd, kUnwritable, "P-ADD-UNWRITABLE", kRefuse, kNoRight},
    Case{kAdd, kHidden, "P-ADD-HIDDEN", kConflict, kBothChanged},
    Case{kAdd, kAppeared, "P-ADD-APPEARED", kConflict, kBothChanged},
    Case{kAdd, kAbsent, "P-ADD-ABSENT", kRefuse, kContradiction},
    Case{kAdd, kDirectoryHere, "P-ADD-DIRECTORY", kConflict, kInTheWay},
    Case{kAdd, kFileHere, "P-ADD-FILE", kRefuse, kContradiction},
    Case{kAdd, kOtherType, "P-ADD-OTHER-TYPE", kRefuse, kContradiction},
    Case{kAdd, kRetargeted, "P-ADD-RETARGETED", kRefuse, kContradiction},
    Case{kAdd, kEditedText, "P-ADD-EDITED-TEXT", kRefuse, kContradiction},
    Case{kAdd, kEdited, "P-ADD-EDITED", kRefuse, kContradiction},
    Case{kAdd, kMetadataDiffers, "P-ADD-METADATA", kRefuse, kContradiction},
    Case{kAdd, kNotEmpty, "P-ADD-NOT-EMPTY", kRefuse, kContradiction},
    Case{kAdd, kLinked, "P-ADD-LINKED", kRefuse, kContradiction},
    Case{kAdd, kAsSeen, "P-ADD-AS-SEEN", kApply, kNone},

    Case{kEdit, kUnknown, "P-EDIT-UNKNOWN", kRefuse, kCannotTell},
    Case{kEdit, kParentSymlink, "P-EDIT-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kEdit, kParentFile, "P-EDIT-PARENT-FILE", kConflict, kInTheWay},
    Case{kEdit, kParentMissing, "P-EDIT-NO-PARENT", kConflict, kNoDirectory},
    Case{kEdit, kMountPoint, "P-EDIT-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kEdit, kCaseCollision, "P-EDIT-CASE", kConflict, kCollision},
    Case{kEdit, kUnicodeCollision, "P-EDIT-UNICODE", kConflict, kCollision},
    Case{kEdit, kSame, "P-EDIT-SAME", kSkip, kNone},
    Case{kEdit, kImmutable, "P-EDIT-IMMUTABLE", kRefuse, kNoRight},
    Case{kEdit, kUnwritable, "P-EDIT-UNWRITABLE", kRefuse, kNoRight},
    Case{kEdit, kHidden, "P-EDIT-HIDDEN", kRefuse, kContradiction},
    Case{kEdit, kAppeared, "P-EDIT-APPEARED", kRefuse, kContradiction},
    Case{kEdit, kAbsent, "P-EDIT-ABSENT", kConflict, kGone},
    Case{kEdit, kDirectoryHere, "P-EDIT-DIRECTORY", kConflict, kInTheWay},
    Case{kEdit, kFileHere, "P-EDIT-FILE", kRefuse, kContradiction},
    Case{kEdit, kOtherType, "P-EDIT-OTHER-TYPE", kConflict, kInTheWay},
    Case{kEdit, kRetargeted, "P-EDIT-RETARGETED", kRefuse, kContradiction},
    Case{kEdit, kEditedText, "P-EDIT-EDITED-TEXT", kMerge, kNone},
    Case{kEdit, kEdited, "P-EDIT-EDITED", kConflict, kBothChanged},
    Case{kEdit, kMetadataDiffers, "P-EDIT-METADATA", kConflict, kBothChanged},
    Case{kEdit, kNotEmpty, "P-EDIT-NOT-EMPTY", kRefuse, kContradiction},
    Case{kEdit, kLinked, "P-EDIT-LINKED", kApply, kNone},
    Case{kEdit, kAsSeen, "P-EDIT-AS-SEEN", kApply, kNone},

    Case{kMetadata, kUnknown, "P-META-UNKNOWN", kRefuse, kCannotTell},
    Case{kMetadata, kParentSymlink, "P-META-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kMetadata, kParentFile, "P-META-PARENT-FILE", kConflict, kInTheWay},
    Case{kMetadata, kParentMissing, "P-META-NO-PARENT", kConflict, kNoDirectory},
    Case{kMetadata, kMountPoint, "P-META-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kMetadata, kCaseCollision, "P-META-CASE", kConflict, kCollision},
    Case{kMetadata, kUnicodeCollision, "P-META-UNICODE", kConflict, kCollision},
    Case{kMetadata, kSame, "P-META-SAME", kSkip, kNone},
    Case{kMetadata, kImmutable, "P-META-IMMUTABLE", kRefuse, kNoRight},
    Case{kMetadata, kUnwritable, "P-META-UNWRITABLE", kRefuse, kNoRight},
    Case{kMetadata, kHidden, "P-META-HIDDEN", kRefuse, kContradiction},
    Case{kMetadata, kAppeared, "P-META-APPEARED", kRefuse, kContradiction},
    Case{kMetadata, kAbsent, "P-META-ABSENT", kConflict, kGone},
    Case{kMetadata, kDirectoryHere, "P-META-DIRECTORY", kConflict, kInTheWay},
    Case{kMetadata, kFileHere, "P-META-FILE", kRefuse, kContradiction},
    Case{kMetadata, kOtherType, "P-META-OTHER-TYPE", kConflict, kInTheWay},
    Case{kMetadata, kRetargeted, "P-META-RETARGETED", kConflict, kBothChanged},
    Case{kMetadata, kEditedText, "P-META-EDITED-TEXT", kConflict, kBothChanged},
    Case{kMetadata, kEdited, "P-META-EDITED", kConflict, kBothChanged},
    Case{kMetadata, kMetadataDiffers, "P-META-METADATA", kConflict, kBothChanged},
    Case{kMetadata, kNotEmpty, "P-META-NOT-EMPTY", kRefuse, kContradiction},
    Case{kMetadata, kLinked, "P-META-LINKED", kApply, kNone},
    Case{kMetadata, kAsSeen, "P-META-AS-SEEN", kApply, kNone},

    Case{kDelete, kUnknown, "P-DELETE-UNKNOWN", kRefuse, kCannotTell},
    Case{kDelete, kParentSymlink, "P-DELETE-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kDelete, kParentFile, "P-DELETE-PARENT-FILE", kConflict, kInTheWay},
    Case{kDelete, kParentMissing, "P-DELETE-NO-PARENT", kSkip, kNone},
    Case{kDelete, kMountPoint, "P-DELETE-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kDelete, kCaseCollision, "P-DELETE-CASE", kConflict, kCollision},
    Case{kDelete, kUnicodeCollision, "P-DELETE-UNICODE", kConflict, kCollision},
    Case{kDelete, kSame, "P-DELETE-SAME", kSkip, kNone},
    Case{kDelete, kImmutable, "P-DELETE-IMMUTABLE", kRefuse, kNoRight},
    Case{kDelete, kUnwritable, "P-DELETE-UNWRITABLE", kRefuse, kNoRight},
    Case{kDelete, kHidden, "P-DELETE-HIDDEN", kRefuse, kContradiction},
    Case{kDelete, kAppeared, "P-DELETE-APPEARED", kRefuse, kContradiction},
    Case{kDelete, kAbsent, "P-DELETE-ABSENT", kSkip, kNone},
    Case{kDelete, kDirectoryHere, "P-DELETE-DIRECTORY", kConflict, kInTheWay},
    Case{kDelete, kFileHere, "P-DELETE-FILE", kRefuse, kContradiction},
    Case{kDelete, kOtherType, "P-DELETE-OTHER-TYPE", kConflict, kInTheWay},
    Case{kDelete, kRetargeted, "P-DELETE-RETARGETED", kConflict, kBothChanged},
    Case{kDelete, kEditedText, "P-DELETE-EDITED-TEXT", kConflict, kBothChanged},
    Case{kDelete, kEdited, "P-DELETE-EDITED", kConflict, kBothChanged},
    Case{kDelete, kMetadataDiffers, "P-DELETE-METADATA", kConflict, kBothChanged},
    Case{kDelete, kNotEmpty, "P-DELETE-NOT-EMPTY", kRefuse, kContradiction},
    Case{kDelete, kLinked, "P-DELETE-LINKED", kApply, kNone},
    Case{kDelete, kAsSeen, "P-DELETE-AS-SEEN", kApply, kNone},

    Case{kRetarget, kUnknown, "P-RETARGET-UNKNOWN", kRefuse, kCannotTell},
    Case{kRetarget, kParentSymlink, "P-RETARGET-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kRetarget, kParentFile, "P-RETARGET-PARENT-FILE", kConflict, kInTheWay},
    Case{kRetarget, kParentMissing, "P-RETARGET-NO-PARENT", kConflict, kNoDirectory},
    Case{kRetarget, kMountPoint, "P-RETARGET-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kRetarget, kCaseCollision, "P-RETARGET-CASE", kConflict, kCollision},
    Case{kRetarget, kUnicodeCollision, "P-RETARGET-UNICODE", kConflict, kCollision},
    Case{kRetarget, kSame, "P-RETARGET-SAME", kSkip, kNone},
    Case{kRetarget, kImmutable, "P-RETARGET-IMMUTABLE", kRefuse, kNoRight},
    Case{kRetarget, kUnwritable, "P-RETARGET-UNWRITABLE", kRefuse, kNoRight},
    Case{kRetarget, kHidden, "P-RETARGET-HIDDEN", kRefuse, kContradiction},
    Case{kRetarget, kAppeared, "P-RETARGET-APPEARED", kRefuse, kContradiction},
    Case{kRetarget, kAbsent, "P-RETARGET-ABSENT", kConflict, kGone},
    Case{kRetarget, kDirectoryHere, "P-RETARGET-DIRECTORY", kConflict, kInTheWay},
    Case{kRetarget, kFileHere, "P-RETARGET-FILE", kRefuse, kContradiction},
    Case{kRetarget, kOtherType, "P-RETARGET-OTHER-TYPE", kConflict, kInTheWay},
    Case{kRetarget, kRetargeted, "P-RETARGET-RETARGETED", kConflict, kBothChanged},
    Case{kRetarget, kEditedText, "P-RETARGET-EDITED-TEXT", kRefuse, kContradiction},
    Case{kRetarget, kEdited, "P-RETARGET-EDITED", kRefuse, kContradiction},
    Case{kRetarget, kMetadataDiffers, "P-RETARGET-METADATA", kConflict, kBothChanged},
    Case{kRetarget, kNotEmpty, "P-RETARGET-NOT-EMPTY", kRefuse, kContradiction},
    Case{kRetarget, kLinked, "P-RETARGET-LINKED", kApply, kNone},
    Case{kRetarget, kAsSeen, "P-RETARGET-AS-SEEN", kApply, kNone},

    Case{kTypeChange, kUnknown, "P-TYPE-UNKNOWN", kRefuse, kCannotTell},
    Case{kTypeChange, kParentSymlink, "P-TYPE-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kTypeChange, kParentFile, "P-TYPE-PARENT-FILE", kConflict, kInTheWay},
    Case{kTypeChange, kParentMissing, "P-TYPE-NO-PARENT", kConflict, kNoDirectory},
    Case{kTypeChange, kMountPoint, "P-TYPE-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kTypeChange, kCaseCollision, "P-TYPE-CASE", kConflict, kCollision},
    Case{kTypeChange, kUnicodeCollision, "P-TYPE-UNICODE", kConflict, kCollision},
    Case{kTypeChange, kSame, "P-TYPE-SAME", kSkip, kNone},
    Case{kTypeChange, kImmutable, "P-TYPE-IMMUTABLE", kRefuse, kNoRight},
    Case{kTypeChange, kUnwritable, "P-TYPE-UNWRITABLE", kRefuse, kNoRight},
    Case{kTypeChange, kHidden, "P-TYPE-HIDDEN", kRefuse, kContradiction},
    Case{kTypeChange, kAppeared, "P-TYPE-APPEARED", kRefuse, kContradiction},
    Case{kTypeChange, kAbsent, "P-TYPE-ABSENT", kConflict, kGone},
    Case{kTypeChange, kDirectoryHere, "P-TYPE-DIRECTORY", kConflict, kInTheWay},
    Case{kTypeChange, kFileHere, "P-TYPE-FILE", kRefuse, kContradiction},
    Case{kTypeChange, kOtherType, "P-TYPE-OTHER-TYPE", kConflict, kInTheWay},
    Case{kTypeChange, kRetargeted, "P-TYPE-RETARGETED", kConflict, kBothChanged},
    Case{kTypeChange, kEditedText, "P-TYPE-EDITED-TEXT", kConflict, kBothChanged},
    Case{kTypeChange, kEdited, "P-TYPE-EDITED", kConflict, kBothChanged},
    Case{kTypeChange, kMetadataDiffers, "P-TYPE-METADATA", kConflict, kBothChanged},
    Case{kTypeChange, kNotEmpty, "P-TYPE-NOT-EMPTY", kRefuse, kContradiction},
    Case{kTypeChange, kLinked, "P-TYPE-LINKED", kApply, kNone},
    Case{kTypeChange, kAsSeen, "P-TYPE-AS-SEEN", kApply, kNone},

    Case{kFileToDirectory, kUnknown, "P-TODIR-UNKNOWN", kRefuse, kCannotTell},
    Case{kFileToDirectory, kParentSymlink, "P-TODIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kFileToDirectory, kParentFile, "P-TODIR-PARENT-FILE", kConflict, kInTheWay},
    Case{kFileToDirectory, kParentMissing, "P-TODIR-NO-PARENT", kConflict, kNoDirectory},
    Case{kFileToDirectory, kMountPoint, "P-TODIR-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kFileToDirectory, kCaseCollision, "P-TODIR-CASE", kConflict, kCollision},
    Case{kFileToDirectory, kUnicodeCollision, "P-TODIR-UNICODE", kConflict, kCollision},
    Case{kFileToDirectory, kSame, "P-TODIR-SAME", kSkip, kNone},
    Case{kFileToDirectory, kImmutable, "P-TODIR-IMMUTABLE", kRefuse, kNoRight},
    Case{kFileToDirectory, kUnwritable, "P-TODIR-UNWRITABLE", kRefuse, kNoRight},
    Case{kFileToDirectory, kHidden, "P-TODIR-HIDDEN", kRefuse, kContradiction},
    Case{kFileToDirectory, kAppeared, "P-TODIR-APPEARED", kRefuse, kContradiction},
    Case{kFileToDirectory, kAbsent, "P-TODIR-ABSENT", kConflict, kGone},
    Case{kFileToDirectory, kDirectoryHere, "P-TODIR-DIRECTORY", kConflict, kInTheWay},
    Case{kFileToDirectory, kFileHere, "P-TODIR-FILE", kRefuse, kContradiction},
    Case{kFileToDirectory, kOtherType, "P-TODIR-OTHER-TYPE", kConflict, kInTheWay},
    Case{kFileToDirectory, kRetargeted, "P-TODIR-RETARGETED", kConflict, kBothChanged},
    Case{kFileToDirectory, kEditedText, "P-TODIR-EDITED-TEXT", kConflict, kBothChanged},
    Case{kFileToDirectory, kEdited, "P-TODIR-EDITED", kConflict, kBothChanged},
    Case{kFileToDirectory, kMetadataDiffers, "P-TODIR-METADATA", kConflict, kBothChanged},
    Case{kFileToDirectory, kNotEmpty, "P-TODIR-NOT-EMPTY", kRefuse, kContradiction},
    Case{kFileToDirectory, kLinked, "P-TODIR-LINKED", kApply, kNone},
    Case{kFileToDirectory, kAsSeen, "P-TODIR-AS-SEEN", kApply, kNone},

    Case{kDirectoryToFile, kUnknown, "P-FROMDIR-UNKNOWN", kRefuse, kCannotTell},
    Case{kDirectoryToFile, kParentSymlink, "P-FROMDIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kDirectoryToFile, kParentFile, "P-FROMDIR-PARENT-FILE", kConflict, kInTheWay},
    Case{kDirectoryToFile, kParentMissing, "P-FROMDIR-NO-PARENT", kConflict, kNoDirectory},
    Case{kDirectoryToFile, kMountPoint, "P-FROMDIR-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kDirectoryToFile, kCaseCollision, "P-FROMDIR-CASE", kConflict, kCollision},
    Case{kDirectoryToFile, kUnicodeCollision, "P-FROMDIR-UNICODE", kConflict, kCollision},
    Case{kDirectoryToFile, kSame, "P-FROMDIR-SAME", kSkip, kNone},
    Case{kDirectoryToFile, kImmutable, "P-FROMDIR-IMMUTABLE", kRefuse, kNoRight},
    Case{kDirectoryToFile, kUnwritable, "P-FROMDIR-UNWRITABLE", kRefuse, kNoRight},
    Case{kDirectoryToFile, kHidden, "P-FROMDIR-HIDDEN", kRefuse, kContradiction},
    Case{kDirectoryToFile, kAppeared, "P-FROMDIR-APPEARED", kRefuse, kContradiction},
    Case{kDirectoryToFile, kAbsent, "P-FROMDIR-ABSENT", kConflict, kGone},
    Case{kDirectoryToFile, kDirectoryHere, "P-FROMDIR-DIRECTORY", kRefuse, kContradiction},
    Case{kDirectoryToFile, kFileHere, "P-FROMDIR-FILE", kConflict, kInTheWay},
    Case{kDirectoryToFile, kOtherType, "P-FROMDIR-OTHER-TYPE", kRefuse, kContradiction},
    Case{kDirectoryToFile, kRetargeted, "P-FROMDIR-RETARGETED", kRefuse, kContradiction},
    Case{kDirectoryToFile, kEditedText, "P-FROMDIR-EDITED-TEXT", kRefuse, kContradiction},
    Case{kDirectoryToFile, kEdited, "P-FROMDIR-EDITED", kRefuse, kContradiction},
    Case{kDirectoryToFile, kMetadataDiffers, "P-FROMDIR-METADATA", kConflict, kBothChanged},
    Case{kDirectoryToFile, kNotEmpty, "P-FROMDIR-NOT-EMPTY", kConflict, kNotSeen},
    Case{kDirectoryToFile, kLinked, "P-FROMDIR-LINKED", kRefuse, kContradiction},
    Case{kDirectoryToFile, kAsSeen, "P-FROMDIR-AS-SEEN", kApply, kNone},

    Case{kAddDirectory, kUnknown, "P-ADDDIR-UNKNOWN", kRefuse, kCannotTell},
    Case{kAddDirectory, kParentSymlink, "P-ADDDIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kAddDirectory, kParentFile, "P-ADDDIR-PARENT-FILE", kConflict, kInTheWay},
    Case{kAddDirectory, kParentMissing, "P-ADDDIR-NO-PARENT", kConflict, kNoDirectory},
    Case{kAddDirectory, kMountPoint, "P-ADDDIR-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kAddDirectory, kCaseCollision, "P-ADDDIR-CASE", kConflict, kCollision},
    Case{kAddDirectory, kUnicodeCollision, "P-ADDDIR-UNICODE", kConflict, kCollision},
    Case{kAddDirectory, kSame, "P-ADDDIR-SAME", kSkip, kNone},
    Case{kAddDirectory, kImmutable, "P-ADDDIR-IMMUTABLE", kRefuse, kNoRight},
    Case{kAddDirectory, kUnwritable, "P-ADDDIR-UNWRITABLE", kRefuse, kNoRight},
    Case{kAddDirectory, kHidden, "P-ADDDIR-HIDDEN", kConflict, kBothChanged},
    Case{kAddDirectory, kAppeared, "P-ADDDIR-APPEARED", kConflict, kInTheWay},
    Case{kAddDirectory, kAbsent, "P-ADDDIR-ABSENT", kRefuse, kContradiction},
    Case{kAddDirectory, kDirectoryHere, "P-ADDDIR-DIRECTORY", kConflict, kBothChanged},
    Case{kAddDirectory, kFileHere, "P-ADDDIR-FILE", kRefuse, kContradiction},
    Case{kAddDirectory, kOtherType, "P-ADDDIR-OTHER-TYPE", kRefuse, kContradiction},
    Case{kAddDirectory, kRetargeted, "P-ADDDIR-RETARGETED", kRefuse, kContradiction},
    Case{kAddDirectory, kEditedText, "P-ADDDIR-EDITED-TEXT", kRefuse, kContradiction},
    Case{kAddDirectory, kEdited, "P-ADDDIR-EDITED", kRefuse, kContradiction},
    Case{kAddDirectory, kMetadataDiffers, "P-ADDDIR-METADATA", kRefuse, kContradiction},
    Case{kAddDirectory, kNotEmpty, "P-ADDDIR-NOT-EMPTY", kRefuse, kContradiction},
    Case{kAddDirectory, kLinked, "P-ADDDIR-LINKED", kRefuse, kContradiction},
    Case{kAddDirectory, kAsSeen, "P-ADDDIR-AS-SEEN", kApply, kNone},

    Case{kDirectoryMetadata, kUnknown, "P-DIRMETA-UNKNOWN", kRefuse, kCannotTell},
    Case{kDirectoryMetadata, kParentSymlink, "P-DIRMETA-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kDirectoryMetadata, kParentFile, "P-DIRMETA-PARENT-FILE", kConflict, kInTheWay},
    Case{kDirectoryMetadata, kParentMissing, "P-DIRMETA-NO-PARENT", kConflict, kNoDirectory},
    Case{kDirectoryMetadata, kMountPoint, "P-DIRMETA-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kDirectoryMetadata, kCaseCollision, "P-DIRMETA-CASE", kConflict, kCollision},
    Case{kDirectoryMetadata, kUnicodeCollision, "P-DIRMETA-UNICODE", kConflict, kCollision},
    Case{kDirectoryMetadata, kSame, "P-DIRMETA-SAME", kSkip, kNone},
    Case{kDirectoryMetadata, kImmutable, "P-DIRMETA-IMMUTABLE", kRefuse, kNoRight},
    Case{kDirectoryMetadata, kUnwritable, "P-DIRMETA-UNWRITABLE", kRefuse, kNoRight},
    Case{kDirectoryMetadata, kHidden, "P-DIRMETA-HIDDEN", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kAppeared, "P-DIRMETA-APPEARED", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kAbsent, "P-DIRMETA-ABSENT", kConflict, kGone},
    Case{kDirectoryMetadata, kDirectoryHere, "P-DIRMETA-DIRECTORY", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kFileHere, "P-DIRMETA-FILE", kConflict, kInTheWay},
    Case{kDirectoryMetadata, kOtherType, "P-DIRMETA-OTHER-TYPE", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kRetargeted, "P-DIRMETA-RETARGETED", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kEditedText, "P-DIRMETA-EDITED-TEXT", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kEdited, "P-DIRMETA-EDITED", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kMetadataDiffers, "P-DIRMETA-METADATA", kConflict, kBothChanged},
    Case{kDirectoryMetadata, kNotEmpty, "P-DIRMETA-NOT-EMPTY", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kLinked, "P-DIRMETA-LINKED", kRefuse, kContradiction},
    Case{kDirectoryMetadata, kAsSeen, "P-DIRMETA-AS-SEEN", kApply, kNone},

    Case{kDeleteDirectory, kUnknown, "P-RMDIR-UNKNOWN", kRefuse, kCannotTell},
    Case{kDeleteDirectory, kParentSymlink, "P-RMDIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kDeleteDirectory, kParentFile, "P-RMDIR-PARENT-FILE", kConflict, kInTheWay},
    Case{kDeleteDirectory, kParentMissing, "P-RMDIR-NO-PARENT", kSkip, kNone},
    Case{kDeleteDirectory, kMountPoint, "P-RMDIR-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kDeleteDirectory, kCaseCollision, "P-RMDIR-CASE", kConflict, kCollision},
    Case{kDeleteDirectory, kUnicodeCollision, "P-RMDIR-UNICODE", kConflict, kCollision},
    Case{kDeleteDirectory, kSame, "P-RMDIR-SAME", kSkip, kNone},
    Case{kDeleteDirectory, kImmutable, "P-RMDIR-IMMUTABLE", kRefuse, kNoRight},
    Case{kDeleteDirectory, kUnwritable, "P-RMDIR-UNWRITABLE", kRefuse, kNoRight},
    Case{kDeleteDirectory, kHidden, "P-RMDIR-HIDDEN", kRefuse, kContradiction},
    Case{kDeleteDirectory, kAppeared, "P-RMDIR-APPEARED", kRefuse, kContradiction},
    Case{kDeleteDirectory, kAbsent, "P-RMDIR-ABSENT", kSkip, kNone},
    Case{kDeleteDirectory, kDirectoryHere, "P-RMDIR-DIRECTORY", kRefuse, kContradiction},
    Case{kDeleteDirectory, kFileHere, "P-RMDIR-FILE", kConflict, kInTheWay},
    Case{kDeleteDirectory, kOtherType, "P-RMDIR-OTHER-TYPE", kRefuse, kContradiction},
    Case{kDeleteDirectory, kRetargeted, "P-RMDIR-RETARGETED", kRefuse, kContradiction},
    Case{kDeleteDirectory, kEditedText, "P-RMDIR-EDITED-TEXT", kRefuse, kContradiction},
    Case{kDeleteDirectory, kEdited, "P-RMDIR-EDITED", kRefuse, kContradiction},
    Case{kDeleteDirectory, kMetadataDiffers, "P-RMDIR-METADATA", kConflict, kBothChanged},
    Case{kDeleteDirectory, kNotEmpty, "P-RMDIR-NOT-EMPTY", kConflict, kNotSeen},
    Case{kDeleteDirectory, kLinked, "P-RMDIR-LINKED", kRefuse, kContradiction},
    Case{kDeleteDirectory, kAsSeen, "P-RMDIR-AS-SEEN", kApply, kNone},

    Case{kLink, kUnknown, "P-LINK-UNKNOWN", kRefuse, kCannotTell},
    Case{kLink, kParentSymlink, "P-LINK-PARENT-SYMLINK", kRefuse, kLeadsElsewhere},
    Case{kLink, kParentFile, "P-LINK-PARENT-FILE", kConflict, kInTheWay},
    Case{kLink, kParentMissing, "P-LINK-NO-PARENT", kConflict, kNoDirectory},
    Case{kLink, kMountPoint, "P-LINK-MOUNT", kRefuse, kLeadsElsewhere},
    Case{kLink, kCaseCollision, "P-LINK-CASE", kConflict, kCollision},
    Case{kLink, kUnicodeCollision, "P-LINK-UNICODE", kConflict, kCollision},
    Case{kLink, kSame, "P-LINK-SAME", kSkip, kNone},
    Case{kLink, kImmutable, "P-LINK-IMMUTABLE", kRefuse, kNoRight},
    Case{kLink, kUnwritable, "P-LINK-UNWRITABLE", kRefuse, kNoRight},
    Case{kLink, kHidden, "P-LINK-HIDDEN", kConflict, kBothChanged},
    Case{kLink, kAppeared, "P-LINK-APPEARED", kConflict, kBothChanged},
    Case{kLink, kAbsent, "P-LINK-ABSENT", kConflict, kGone},
    Case{kLink, kDirectoryHere, "P-LINK-DIRECTORY", kConflict, kInTheWay},
    Case{kLink, kFileHere, "P-LINK-FILE", kRefuse, kContradiction},
    Case{kLink, kOtherType, "P-LINK-OTHER-TYPE", kConflict, kInTheWay},
    Case{kLink, kRetargeted, "P-LINK-RETARGETED", kConflict, kBothChanged},
    Case{kLink, kEditedText, "P-LINK-EDITED-TEXT", kConflict, kBothChanged},
    Case{kLink, kEdited, "P-LINK-EDITED", kConflict, kBothChanged},
    Case{kLink, kMetadataDiffers, "P-LINK-METADATA", kConflict, kBothChanged},
    Case{kLink, kNotEmpty, "P-LINK-NOT-EMPTY", kRefuse, kContradiction},
    Case{kLink, kLinked, "P-LINK-LINKED", kApply, kNone},
    Case{kLink, kAsSeen, "P-LINK-AS-SEEN", kApply, kNone},

    Case{kSpecial, kUnknown, "P-SPECIAL-UNKNOWN", kRefuse, kNeverPromoted},
    Case{kSpecial, kParentSymlink, "P-SPECIAL-PARENT-SYMLINK", kRefuse, kNeverPromoted},
    Case{kSpecial, kParentFile, "P-SPECIAL-PARENT-FILE", kRefuse, kNeverPromoted},
    Case{kSpecial, kParentMissing, "P-SPECIAL-NO-PARENT", kRefuse, kNeverPromoted},
    Case{kSpecial, kMountPoint, "P-SPECIAL-MOUNT", kRefuse, kNeverPromoted},
    Case{kSpecial, kCaseCollision, "P-SPECIAL-CASE", kRefuse, kNeverPromoted},
    Case{kSpecial, kUnicodeCollision, "P-SPECIAL-UNICODE", kRefuse, kNeverPromoted},
    Case{kSpecial, kSame, "P-SPECIAL-SAME", kSkip, kNone},
    Case{kSpecial, kImmutable, "P-SPECIAL-IMMUTABLE", kRefuse, kNeverPromoted},
    Case{kSpecial, kUnwritable, "P-SPECIAL-UNWRITABLE", kRefuse, kNeverPromoted},
    Case{kSpecial, kHidden, "P-SPECIAL-HIDDEN", kRefuse, kNeverPromoted},
    Case{kSpecial, kAppeared, "P-SPECIAL-APPEARED", kRefuse, kNeverPromoted},
    Case{kSpecial, kAbsent, "P-SPECIAL-ABSENT", kRefuse, kNeverPromoted},
    Case{kSpecial, kDirectoryHere, "P-SPECIAL-DIRECTORY", kRefuse, kNeverPromoted},
    Case{kSpecial, kFileHere, "P-SPECIAL-FILE", kRefuse, kNeverPromoted},
    Case{kSpecial, kOtherType, "P-SPECIAL-OTHER-TYPE", kRefuse, kNeverPromoted},
    Case{kSpecial, kRetargeted, "P-SPECIAL-RETARGETED", kRefuse, kNeverPromoted},
    Case{kSpecial, kEditedText, "P-SPECIAL-EDITED-TEXT", kRefuse, kNeverPromoted},
    Case{kSpecial, kEdited, "P-SPECIAL-EDITED", kRefuse, kNeverPromoted},
    Case{kSpecial, kMetadataDiffers, "P-SPECIAL-METADATA", kRefuse, kNeverPromoted},
    Case{kSpecial, kNotEmpty, "P-SPECIAL-NOT-EMPTY", kRefuse, kNeverPromoted},
    Case{kSpecial, kLinked, "P-SPECIAL-LINKED", kRefuse, kNeverPromoted},
    Case{kSpecial, kAsSeen, "P-SPECIAL-AS-SEEN", kRefuse, kNeverPromoted},
};

// Every pair is at its place in the table, and none is missing.
constexpr bool IsComplete() {
  for (size_t i = 0; i < kTable.size(); ++i)
    if (static_cast<size_t>(kTable[i].incoming) != i / kReals ||
        static_cast<size_t>(kTable[i].real) != i % kReals)
      return false;
  return true;
}
static_assert(IsComplete());

struct Words {
  std::string_view name;
  std::string_view sentence;
};

constexpr std::array<Words, kIncomings> kIncomingWords = {{
    {"add", "the sandbox added it"},
    {"edit", "the sandbox edited it"},
    {"metadata", "the sandbox changed its mode, owner or attributes"},
    {"delete", "the sandbox deleted it"},
    {"retarget", "the sandbox made the symlink point elsewhere"},
    {"type change", "the sandbox made it another type of file"},
    {"file to directory", "the sandbox replaced it by a directory"},
    {"directory to file", "the sandbox replaced the directory by a file"},
    {"add directory", "the sandbox made the directory"},
    {"directory metadata", "the sandbox changed the directory's mode, owner or attributes"},
    {"delete directory", "the sandbox deleted the directory"},
    {"hard link", "the sandbox made it one of several names of a file"},
    {"special file", "the sandbox made a socket or device of it"},
}};

constexpr std::array<Words, kReals> kRealWords = {{
    {"unknown", "it could not be looked at"},
    {"parent is a symlink", "a directory on the way to it is a symlink in reality"},
    {"parent is a file", "a directory on the way to it is a file in reality"},
    {"parent is missing", "the directory it is in does not exist in reality"},
    {"mount point", "it is on another file system in reality"},
    {"case collision",
     "reality has that name in another case, and the file system takes both for one"},
    {"Unicode collision",
     "reality has that name in another Unicode form, and the file system takes both for one"},
    {"same", "reality has that already"},
    {"immutable", "it is immutable in reality"},
    {"unwritable", "you may not change it in reality, or it is mounted read-only"},
    {"hidden", "reality has one there that is hidden from the sandbox"},
    {"appeared", "something else was added there in reality"},
    {"absent", "it is gone in reality"},
    {"directory in its place", "there is a directory in reality"},
    {"file in its place", "there is a file in reality, and no directory"},
    {"other type", "it is another type of file in reality"},
    {"retargeted", "the symlink points elsewhere in reality"},
    {"edited text", "its text was edited in reality"},
    {"edited", "it was edited in reality"},
    {"metadata differs", "its mode, owner or attributes were changed in reality"},
    {"not empty", "the directory holds what the sandbox never saw"},
    {"linked", "the file has more names in reality, which keep what they have"},
    {"as seen", "it is as the sandbox saw it"},
}};

constexpr std::array<std::string_view, 5> kVerdictNames = {"apply", "skip", "merge", "conflict",
                                                           "refuse"};

constexpr std::string_view kChoose =
    "--theirs takes the sandbox's version, --ours keeps what is there; or edit it in the sandbox "
    "and "
    "promote again";

struct ReasonWords {
  std::string_view name;
  std::string_view cure;
};

constexpr std::array<ReasonWords, 12> kReasonWords = {{
    {"", ""},
    {"both changed",
     "--theirs takes the sandbox's version, --ours keeps what is there, --merge-tool merges them; "
     "or "
     "edit it in the sandbox and promote again"},
    {"gone", kChoose},
    {"no directory",
     "name the directory it is in, too, or make it in reality; or leave it out with --exclude"},
    {"in the way", "move away what is there and promote again, or leave it with --ours"},
    {"not seen", "move away what the sandbox never saw and promote again, or keep it with --ours"},
    {"collision", "rename one of the two, there or in the sandbox, and promote again"},
    {"leads elsewhere", "promote onto the real place with --to, or leave it out with --exclude"},
    {"no right", "promote as someone who may, make it writable, or leave it out with --exclude"},
    {"cannot tell", "make it readable for you, or leave it out with --exclude"},
    {"never promoted", "leave it out with --exclude; whatever needs it can make it there"},
    {"contradiction", "look at the change with `cloche diff`; this is a bug, or a forged change"},
}};

}  // namespace

const Case& Decide(Incoming incoming, Real real) {
  return kTable.at(static_cast<size_t>(incoming) * kReals + static_cast<size_t>(real));
}

std::span<const Case> AllCases() { return kTable; }

std::string Sentence(const Case& which) {
  std::string sentence(kIncomingWords.at(static_cast<size_t>(which.incoming)).sentence);
  sentence += "; ";
  sentence += kRealWords.at(static_cast<size_t>(which.real)).sentence;
  return sentence;
}

std::string_view Cure(Reason reason) { return kReasonWords.at(static_cast<size_t>(reason)).cure; }

std::string_view NameOf(Incoming incoming) {
  return kIncomingWords.at(static_cast<size_t>(incoming)).name;
}
std::string_view NameOf(Real real) { return kRealWords.at(static_cast<size_t>(real)).name; }
std::string_view NameOf(Verdict verdict) { return kVerdictNames.at(static_cast<size_t>(verdict)); }
std::string_view NameOf(Reason reason) { return kReasonWords.at(static_cast<size_t>(reason)).name; }

}  // namespace cloche::rules
