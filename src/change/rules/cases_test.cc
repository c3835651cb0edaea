#include "change/rules/cases.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace cloche::rules {
namespace {

using enum Incoming;
using enum Real;
using enum Verdict;
using enum Reason;

// Every pair is written out below, so that a verdict changes only together with its line here;
// tools/lint/promote_cases.py looks for the tags.
void Expect(Incoming incoming, Real real, std::string_view tag, Verdict verdict,
            Reason reason = kNone) {
  const Case& found = Decide(incoming, real);
  EXPECT_EQ(found.tag, tag);
  EXPECT_EQ(found.incoming, incoming) << tag;
  EXPECT_EQ(found.real, real) << tag;
  EXPECT_EQ(NameOf(found.verdict), NameOf(verdict)) << tag;
  EXPECT_EQ(NameOf(found.reason), NameOf(reason)) << tag;
}

TEST(PromoteCases, Add) {
  Expect(kAdd, kUnknown, "P-ADD-UNKNOWN", kRefuse, kCannotTell);
  Expect(kAdd, kParentSymlink, "P-ADD-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kAdd, kParentFile, "P-ADD-PARENT-FILE", kConflict, kInTheWay);
  Expect(kAdd, kParentMissing, "P-ADD-NO-PARENT", kConflict, kNoDirectory);
  Expect(kAdd, kMountPoint, "P-ADD-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kAdd, kCaseCollision, "P-ADD-CASE", kConflict, kCollision);
  Expect(kAdd, kUnicodeCollision, "P-ADD-UNICODE", kConflict, kCollision);
  Expect(kAdd, kSame, "P-ADD-SAME", kSkip);
  Expect(kAdd, kImmutable, "P-ADD-IMMUTABLE", kRefuse, kNoRight);
  Expect(kAdd, kUnwritable, "P-ADD-UNWRITABLE", kRefuse, kNoRight);
  Expect(kAdd, kHidden, "P-ADD-HIDDEN", kConflict, kBothChanged);
  Expect(kAdd, kAppeared, "P-ADD-APPEARED", kConflict, kBothChanged);
  Expect(kAdd, kAbsent, "P-ADD-ABSENT", kRefuse, kContradiction);
  Expect(kAdd, kDirectoryHere, "P-ADD-DIRECTORY", kConflict, kInTheWay);
  Expect(kAdd, kFileHere, "P-ADD-FILE", kRefuse, kContradiction);
  Expect(kAdd, kOtherType, "P-ADD-OTHER-TYPE", kRefuse, kContradiction);
  Expect(kAdd, kRetargeted, "P-ADD-RETARGETED", kRefuse, kContradiction);
  Expect(kAdd, kEditedText, "P-ADD-EDITED-TEXT", kRefuse, kContradiction);
  Expect(kAdd, kEdited, "P-ADD-EDITED", kRefuse, kContradiction);
  Expect(kAdd, kMetadataDiffers, "P-ADD-METADATA", kRefuse, kContradiction);
  Expect(kAdd, kNotEmpty, "P-ADD-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kAdd, kLinked, "P-ADD-LINKED", kRefuse, kContradiction);
  Expect(kAdd, kAsSeen, "P-ADD-AS-SEEN", kApply);
}

TEST(PromoteCases, Edit) {
  Expect(kEdit, kUnknown, "P-EDIT-UNKNOWN", kRefuse, kCannotTell);
  Expect(kEdit, kParentSymlink, "P-EDIT-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kEdit, kParentFile, "P-EDIT-PARENT-FILE", kConflict, kInTheWay);
  Expect(kEdit, kParentMissing, "P-EDIT-NO-PARENT", kConflict, kNoDirectory);
  Expect(kEdit, kMountPoint, "P-EDIT-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kEdit, kCaseCollision, "P-EDIT-CASE", kConflict, kCollision);
  Expect(kEdit, kUnicodeCollision, "P-EDIT-UNICODE", kConflict, kCollision);
  Expect(kEdit, kSame, "P-EDIT-SAME", kSkip);
  Expect(kEdit, kImmutable, "P-EDIT-IMMUTABLE", kRefuse, kNoRight);
  Expect(kEdit, kUnwritable, "P-EDIT-UNWRITABLE", kRefuse, kNoRight);
  Expect(kEdit, kHidden, "P-EDIT-HIDDEN", kRefuse, kContradiction);
  Expect(kEdit, kAppeared, "P-EDIT-APPEARED", kRefuse, kContradiction);
  Expect(kEdit, kAbsent, "P-EDIT-ABSENT", kConflict, kGone);
  Expect(kEdit, kDirectoryHere, "P-EDIT-DIRECTORY", kConflict, kInTheWay);
  Expect(kEdit, kFileHere, "P-EDIT-FILE", kRefuse, kContradiction);
  Expect(kEdit, kOtherType, "P-EDIT-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kEdit, kRetargeted, "P-EDIT-RETARGETED", kRefuse, kContradiction);
  Expect(kEdit, kEditedText, "P-EDIT-EDITED-TEXT", kMerge);
  Expect(kEdit, kEdited, "P-EDIT-EDITED", kConflict, kBothChanged);
  Expect(kEdit, kMetadataDiffers, "P-EDIT-METADATA", kConflict, kBothChanged);
  Expect(kEdit, kNotEmpty, "P-EDIT-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kEdit, kLinked, "P-EDIT-LINKED", kApply);
  Expect(kEdit, kAsSeen, "P-EDIT-AS-SEEN", kApply);
}

TEST(PromoteCases, Metadata) {
  Expect(kMetadata, kUnknown, "P-META-UNKNOWN", kRefuse, kCannotTell);
  Expect(kMetadata, kParentSymlink, "P-META-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kMetadata, kParentFile, "P-META-PARENT-FILE", kConflict, kInTheWay);
  Expect(kMetadata, kParentMissing, "P-META-NO-PARENT", kConflict, kNoDirectory);
  Expect(kMetadata, kMountPoint, "P-META-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kMetadata, kCaseCollision, "P-META-CASE", kConflict, kCollision);
  Expect(kMetadata, kUnicodeCollision, "P-META-UNICODE", kConflict, kCollision);
  Expect(kMetadata, kSame, "P-META-SAME", kSkip);
  Expect(kMetadata, kImmutable, "P-META-IMMUTABLE", kRefuse, kNoRight);
  Expect(kMetadata, kUnwritable, "P-META-UNWRITABLE", kRefuse, kNoRight);
  Expect(kMetadata, kHidden, "P-META-HIDDEN", kRefuse, kContradiction);
  Expect(kMetadata, kAppeared, "P-META-APPEARED", kRefuse, kContradiction);
  Expect(kMetadata, kAbsent, "P-META-ABSENT", kConflict, kGone);
  Expect(kMetadata, kDirectoryHere, "P-META-DIRECTORY", kConflict, kInTheWay);
  Expect(kMetadata, kFileHere, "P-META-FILE", kRefuse, kContradiction);
  Expect(kMetadata, kOtherType, "P-META-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kMetadata, kRetargeted, "P-META-RETARGETED", kConflict, kBothChanged);
  Expect(kMetadata, kEditedText, "P-META-EDITED-TEXT", kConflict, kBothChanged);
  Expect(kMetadata, kEdited, "P-META-EDITED", kConflict, kBothChanged);
  Expect(kMetadata, kMetadataDiffers, "P-META-METADATA", kConflict, kBothChanged);
  Expect(kMetadata, kNotEmpty, "P-META-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kMetadata, kLinked, "P-META-LINKED", kApply);
  Expect(kMetadata, kAsSeen, "P-META-AS-SEEN", kApply);
}

TEST(PromoteCases, Delete) {
  Expect(kDelete, kUnknown, "P-DELETE-UNKNOWN", kRefuse, kCannotTell);
  Expect(kDelete, kParentSymlink, "P-DELETE-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kDelete, kParentFile, "P-DELETE-PARENT-FILE", kConflict, kInTheWay);
  Expect(kDelete, kParentMissing, "P-DELETE-NO-PARENT", kSkip);
  Expect(kDelete, kMountPoint, "P-DELETE-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kDelete, kCaseCollision, "P-DELETE-CASE", kConflict, kCollision);
  Expect(kDelete, kUnicodeCollision, "P-DELETE-UNICODE", kConflict, kCollision);
  Expect(kDelete, kSame, "P-DELETE-SAME", kSkip);
  Expect(kDelete, kImmutable, "P-DELETE-IMMUTABLE", kRefuse, kNoRight);
  Expect(kDelete, kUnwritable, "P-DELETE-UNWRITABLE", kRefuse, kNoRight);
  Expect(kDelete, kHidden, "P-DELETE-HIDDEN", kRefuse, kContradiction);
  Expect(kDelete, kAppeared, "P-DELETE-APPEARED", kRefuse, kContradiction);
  Expect(kDelete, kAbsent, "P-DELETE-ABSENT", kSkip);
  Expect(kDelete, kDirectoryHere, "P-DELETE-DIRECTORY", kConflict, kInTheWay);
  Expect(kDelete, kFileHere, "P-DELETE-FILE", kRefuse, kContradiction);
  Expect(kDelete, kOtherType, "P-DELETE-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kDelete, kRetargeted, "P-DELETE-RETARGETED", kConflict, kBothChanged);
  Expect(kDelete, kEditedText, "P-DELETE-EDITED-TEXT", kConflict, kBothChanged);
  Expect(kDelete, kEdited, "P-DELETE-EDITED", kConflict, kBothChanged);
  Expect(kDelete, kMetadataDiffers, "P-DELETE-METADATA", kConflict, kBothChanged);
  Expect(kDelete, kNotEmpty, "P-DELETE-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kDelete, kLinked, "P-DELETE-LINKED", kApply);
  Expect(kDelete, kAsSeen, "P-DELETE-AS-SEEN", kApply);
}

TEST(PromoteCases, Retarget) {
  Expect(kRetarget, kUnknown, "P-RETARGET-UNKNOWN", kRefuse, kCannotTell);
  Expect(kRetarget, kParentSymlink, "P-RETARGET-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kRetarget, kParentFile, "P-RETARGET-PARENT-FILE", kConflict, kInTheWay);
  Expect(kRetarget, kParentMissing, "P-RETARGET-NO-PARENT", kConflict, kNoDirectory);
  Expect(kRetarget, kMountPoint, "P-RETARGET-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kRetarget, kCaseCollision, "P-RETARGET-CASE", kConflict, kCollision);
  Expect(kRetarget, kUnicodeCollision, "P-RETARGET-UNICODE", kConflict, kCollision);
  Expect(kRetarget, kSame, "P-RETARGET-SAME", kSkip);
  Expect(kRetarget, kImmutable, "P-RETARGET-IMMUTABLE", kRefuse, kNoRight);
  Expect(kRetarget, kUnwritable, "P-RETARGET-UNWRITABLE", kRefuse, kNoRight);
  Expect(kRetarget, kHidden, "P-RETARGET-HIDDEN", kRefuse, kContradiction);
  Expect(kRetarget, kAppeared, "P-RETARGET-APPEARED", kRefuse, kContradiction);
  Expect(kRetarget, kAbsent, "P-RETARGET-ABSENT", kConflict, kGone);
  Expect(kRetarget, kDirectoryHere, "P-RETARGET-DIRECTORY", kConflict, kInTheWay);
  Expect(kRetarget, kFileHere, "P-RETARGET-FILE", kRefuse, kContradiction);
  Expect(kRetarget, kOtherType, "P-RETARGET-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kRetarget, kRetargeted, "P-RETARGET-RETARGETED", kConflict, kBothChanged);
  Expect(kRetarget, kEditedText, "P-RETARGET-EDITED-TEXT", kRefuse, kContradiction);
  Expect(kRetarget, kEdited, "P-RETARGET-EDITED", kRefuse, kContradiction);
  Expect(kRetarget, kMetadataDiffers, "P-RETARGET-METADATA", kConflict, kBothChanged);
  Expect(kRetarget, kNotEmpty, "P-RETARGET-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kRetarget, kLinked, "P-RETARGET-LINKED", kApply);
  Expect(kRetarget, kAsSeen, "P-RETARGET-AS-SEEN", kApply);
}

TEST(PromoteCases, TypeChange) {
  Expect(kTypeChange, kUnknown, "P-TYPE-UNKNOWN", kRefuse, kCannotTell);
  Expect(kTypeChange, kParentSymlink, "P-TYPE-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kTypeChange, kParentFile, "P-TYPE-PARENT-FILE", kConflict, kInTheWay);
  Expect(kTypeChange, kParentMissing, "P-TYPE-NO-PARENT", kConflict, kNoDirectory);
  Expect(kTypeChange, kMountPoint, "P-TYPE-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kTypeChange, kCaseCollision, "P-TYPE-CASE", kConflict, kCollision);
  Expect(kTypeChange, kUnicodeCollision, "P-TYPE-UNICODE", kConflict, kCollision);
  Expect(kTypeChange, kSame, "P-TYPE-SAME", kSkip);
  Expect(kTypeChange, kImmutable, "P-TYPE-IMMUTABLE", kRefuse, kNoRight);
  Expect(kTypeChange, kUnwritable, "P-TYPE-UNWRITABLE", kRefuse, kNoRight);
  Expect(kTypeChange, kHidden, "P-TYPE-HIDDEN", kRefuse, kContradiction);
  Expect(kTypeChange, kAppeared, "P-TYPE-APPEARED", kRefuse, kContradiction);
  Expect(kTypeChange, kAbsent, "P-TYPE-ABSENT", kConflict, kGone);
  Expect(kTypeChange, kDirectoryHere, "P-TYPE-DIRECTORY", kConflict, kInTheWay);
  Expect(kTypeChange, kFileHere, "P-TYPE-FILE", kRefuse, kContradiction);
  Expect(kTypeChange, kOtherType, "P-TYPE-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kTypeChange, kRetargeted, "P-TYPE-RETARGETED", kConflict, kBothChanged);
  Expect(kTypeChange, kEditedText, "P-TYPE-EDITED-TEXT", kConflict, kBothChanged);
  Expect(kTypeChange, kEdited, "P-TYPE-EDITED", kConflict, kBothChanged);
  Expect(kTypeChange, kMetadataDiffers, "P-TYPE-METADATA", kConflict, kBothChanged);
  Expect(kTypeChange, kNotEmpty, "P-TYPE-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kTypeChange, kLinked, "P-TYPE-LINKED", kApply);
  Expect(kTypeChange, kAsSeen, "P-TYPE-AS-SEEN", kApply);
}

TEST(PromoteCases, FileToDirectory) {
  Expect(kFileToDirectory, kUnknown, "P-TODIR-UNKNOWN", kRefuse, kCannotTell);
  Expect(kFileToDirectory, kParentSymlink, "P-TODIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kFileToDirectory, kParentFile, "P-TODIR-PARENT-FILE", kConflict, kInTheWay);
  Expect(kFileToDirectory, kParentMissing, "P-TODIR-NO-PARENT", kConflict, kNoDirectory);
  Expect(kFileToDirectory, kMountPoint, "P-TODIR-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kFileToDirectory, kCaseCollision, "P-TODIR-CASE", kConflict, kCollision);
  Expect(kFileToDirectory, kUnicodeCollision, "P-TODIR-UNICODE", kConflict, kCollision);
  Expect(kFileToDirectory, kSame, "P-TODIR-SAME", kSkip);
  Expect(kFileToDirectory, kImmutable, "P-TODIR-IMMUTABLE", kRefuse, kNoRight);
  Expect(kFileToDirectory, kUnwritable, "P-TODIR-UNWRITABLE", kRefuse, kNoRight);
  Expect(kFileToDirectory, kHidden, "P-TODIR-HIDDEN", kRefuse, kContradiction);
  Expect(kFileToDirectory, kAppeared, "P-TODIR-APPEARED", kRefuse, kContradiction);
  Expect(kFileToDirectory, kAbsent, "P-TODIR-ABSENT", kConflict, kGone);
  Expect(kFileToDirectory, kDirectoryHere, "P-TODIR-DIRECTORY", kConflict, kInTheWay);
  Expect(kFileToDirectory, kFileHere, "P-TODIR-FILE", kRefuse, kContradiction);
  Expect(kFileToDirectory, kOtherType, "P-TODIR-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kFileToDirectory, kRetargeted, "P-TODIR-RETARGETED", kConflict, kBothChanged);
  Expect(kFileToDirectory, kEditedText, "P-TODIR-EDITED-TEXT", kConflict, kBothChanged);
  Expect(kFileToDirectory, kEdited, "P-TODIR-EDITED", kConflict, kBothChanged);
  Expect(kFileToDirectory, kMetadataDiffers, "P-TODIR-METADATA", kConflict, kBothChanged);
  Expect(kFileToDirectory, kNotEmpty, "P-TODIR-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kFileToDirectory, kLinked, "P-TODIR-LINKED", kApply);
  Expect(kFileToDirectory, kAsSeen, "P-TODIR-AS-SEEN", kApply);
}

TEST(PromoteCases, DirectoryToFile) {
  Expect(kDirectoryToFile, kUnknown, "P-FROMDIR-UNKNOWN", kRefuse, kCannotTell);
  Expect(kDirectoryToFile, kParentSymlink, "P-FROMDIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kDirectoryToFile, kParentFile, "P-FROMDIR-PARENT-FILE", kConflict, kInTheWay);
  Expect(kDirectoryToFile, kParentMissing, "P-FROMDIR-NO-PARENT", kConflict, kNoDirectory);
  Expect(kDirectoryToFile, kMountPoint, "P-FROMDIR-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kDirectoryToFile, kCaseCollision, "P-FROMDIR-CASE", kConflict, kCollision);
  Expect(kDirectoryToFile, kUnicodeCollision, "P-FROMDIR-UNICODE", kConflict, kCollision);
  Expect(kDirectoryToFile, kSame, "P-FROMDIR-SAME", kSkip);
  Expect(kDirectoryToFile, kImmutable, "P-FROMDIR-IMMUTABLE", kRefuse, kNoRight);
  Expect(kDirectoryToFile, kUnwritable, "P-FROMDIR-UNWRITABLE", kRefuse, kNoRight);
  Expect(kDirectoryToFile, kHidden, "P-FROMDIR-HIDDEN", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kAppeared, "P-FROMDIR-APPEARED", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kAbsent, "P-FROMDIR-ABSENT", kConflict, kGone);
  Expect(kDirectoryToFile, kDirectoryHere, "P-FROMDIR-DIRECTORY", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kFileHere, "P-FROMDIR-FILE", kConflict, kInTheWay);
  Expect(kDirectoryToFile, kOtherType, "P-FROMDIR-OTHER-TYPE", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kRetargeted, "P-FROMDIR-RETARGETED", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kEditedText, "P-FROMDIR-EDITED-TEXT", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kEdited, "P-FROMDIR-EDITED", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kMetadataDiffers, "P-FROMDIR-METADATA", kConflict, kBothChanged);
  Expect(kDirectoryToFile, kNotEmpty, "P-FROMDIR-NOT-EMPTY", kConflict, kNotSeen);
  Expect(kDirectoryToFile, kLinked, "P-FROMDIR-LINKED", kRefuse, kContradiction);
  Expect(kDirectoryToFile, kAsSeen, "P-FROMDIR-AS-SEEN", kApply);
}

TEST(PromoteCases, AddDirectory) {
  Expect(kAddDirectory, kUnknown, "P-ADDDIR-UNKNOWN", kRefuse, kCannotTell);
  Expect(kAddDirectory, kParentSymlink, "P-ADDDIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kAddDirectory, kParentFile, "P-ADDDIR-PARENT-FILE", kConflict, kInTheWay);
  Expect(kAddDirectory, kParentMissing, "P-ADDDIR-NO-PARENT", kConflict, kNoDirectory);
  Expect(kAddDirectory, kMountPoint, "P-ADDDIR-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kAddDirectory, kCaseCollision, "P-ADDDIR-CASE", kConflict, kCollision);
  Expect(kAddDirectory, kUnicodeCollision, "P-ADDDIR-UNICODE", kConflict, kCollision);
  Expect(kAddDirectory, kSame, "P-ADDDIR-SAME", kSkip);
  Expect(kAddDirectory, kImmutable, "P-ADDDIR-IMMUTABLE", kRefuse, kNoRight);
  Expect(kAddDirectory, kUnwritable, "P-ADDDIR-UNWRITABLE", kRefuse, kNoRight);
  Expect(kAddDirectory, kHidden, "P-ADDDIR-HIDDEN", kConflict, kBothChanged);
  Expect(kAddDirectory, kAppeared, "P-ADDDIR-APPEARED", kConflict, kInTheWay);
  Expect(kAddDirectory, kAbsent, "P-ADDDIR-ABSENT", kRefuse, kContradiction);
  Expect(kAddDirectory, kDirectoryHere, "P-ADDDIR-DIRECTORY", kConflict, kBothChanged);
  Expect(kAddDirectory, kFileHere, "P-ADDDIR-FILE", kRefuse, kContradiction);
  Expect(kAddDirectory, kOtherType, "P-ADDDIR-OTHER-TYPE", kRefuse, kContradiction);
  Expect(kAddDirectory, kRetargeted, "P-ADDDIR-RETARGETED", kRefuse, kContradiction);
  Expect(kAddDirectory, kEditedText, "P-ADDDIR-EDITED-TEXT", kRefuse, kContradiction);
  Expect(kAddDirectory, kEdited, "P-ADDDIR-EDITED", kRefuse, kContradiction);
  Expect(kAddDirectory, kMetadataDiffers, "P-ADDDIR-METADATA", kRefuse, kContradiction);
  Expect(kAddDirectory, kNotEmpty, "P-ADDDIR-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kAddDirectory, kLinked, "P-ADDDIR-LINKED", kRefuse, kContradiction);
  Expect(kAddDirectory, kAsSeen, "P-ADDDIR-AS-SEEN", kApply);
}

TEST(PromoteCases, DirectoryMetadata) {
  Expect(kDirectoryMetadata, kUnknown, "P-DIRMETA-UNKNOWN", kRefuse, kCannotTell);
  Expect(kDirectoryMetadata, kParentSymlink, "P-DIRMETA-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kDirectoryMetadata, kParentFile, "P-DIRMETA-PARENT-FILE", kConflict, kInTheWay);
  Expect(kDirectoryMetadata, kParentMissing, "P-DIRMETA-NO-PARENT", kConflict, kNoDirectory);
  Expect(kDirectoryMetadata, kMountPoint, "P-DIRMETA-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kDirectoryMetadata, kCaseCollision, "P-DIRMETA-CASE", kConflict, kCollision);
  Expect(kDirectoryMetadata, kUnicodeCollision, "P-DIRMETA-UNICODE", kConflict, kCollision);
  Expect(kDirectoryMetadata, kSame, "P-DIRMETA-SAME", kSkip);
  Expect(kDirectoryMetadata, kImmutable, "P-DIRMETA-IMMUTABLE", kRefuse, kNoRight);
  Expect(kDirectoryMetadata, kUnwritable, "P-DIRMETA-UNWRITABLE", kRefuse, kNoRight);
  Expect(kDirectoryMetadata, kHidden, "P-DIRMETA-HIDDEN", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kAppeared, "P-DIRMETA-APPEARED", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kAbsent, "P-DIRMETA-ABSENT", kConflict, kGone);
  Expect(kDirectoryMetadata, kDirectoryHere, "P-DIRMETA-DIRECTORY", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kFileHere, "P-DIRMETA-FILE", kConflict, kInTheWay);
  Expect(kDirectoryMetadata, kOtherType, "P-DIRMETA-OTHER-TYPE", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kRetargeted, "P-DIRMETA-RETARGETED", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kEditedText, "P-DIRMETA-EDITED-TEXT", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kEdited, "P-DIRMETA-EDITED", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kMetadataDiffers, "P-DIRMETA-METADATA", kConflict, kBothChanged);
  Expect(kDirectoryMetadata, kNotEmpty, "P-DIRMETA-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kLinked, "P-DIRMETA-LINKED", kRefuse, kContradiction);
  Expect(kDirectoryMetadata, kAsSeen, "P-DIRMETA-AS-SEEN", kApply);
}

TEST(PromoteCases, DeleteDirectory) {
  Expect(kDeleteDirectory, kUnknown, "P-RMDIR-UNKNOWN", kRefuse, kCannotTell);
  Expect(kDeleteDirectory, kParentSymlink, "P-RMDIR-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kDeleteDirectory, kParentFile, "P-RMDIR-PARENT-FILE", kConflict, kInTheWay);
  Expect(kDeleteDirectory, kParentMissing, "P-RMDIR-NO-PARENT", kSkip);
  Expect(kDeleteDirectory, kMountPoint, "P-RMDIR-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kDeleteDirectory, kCaseCollision, "P-RMDIR-CASE", kConflict, kCollision);
  Expect(kDeleteDirectory, kUnicodeCollision, "P-RMDIR-UNICODE", kConflict, kCollision);
  Expect(kDeleteDirectory, kSame, "P-RMDIR-SAME", kSkip);
  Expect(kDeleteDirectory, kImmutable, "P-RMDIR-IMMUTABLE", kRefuse, kNoRight);
  Expect(kDeleteDirectory, kUnwritable, "P-RMDIR-UNWRITABLE", kRefuse, kNoRight);
  Expect(kDeleteDirectory, kHidden, "P-RMDIR-HIDDEN", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kAppeared, "P-RMDIR-APPEARED", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kAbsent, "P-RMDIR-ABSENT", kSkip);
  Expect(kDeleteDirectory, kDirectoryHere, "P-RMDIR-DIRECTORY", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kFileHere, "P-RMDIR-FILE", kConflict, kInTheWay);
  Expect(kDeleteDirectory, kOtherType, "P-RMDIR-OTHER-TYPE", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kRetargeted, "P-RMDIR-RETARGETED", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kEditedText, "P-RMDIR-EDITED-TEXT", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kEdited, "P-RMDIR-EDITED", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kMetadataDiffers, "P-RMDIR-METADATA", kConflict, kBothChanged);
  Expect(kDeleteDirectory, kNotEmpty, "P-RMDIR-NOT-EMPTY", kConflict, kNotSeen);
  Expect(kDeleteDirectory, kLinked, "P-RMDIR-LINKED", kRefuse, kContradiction);
  Expect(kDeleteDirectory, kAsSeen, "P-RMDIR-AS-SEEN", kApply);
}

TEST(PromoteCases, Link) {
  Expect(kLink, kUnknown, "P-LINK-UNKNOWN", kRefuse, kCannotTell);
  Expect(kLink, kParentSymlink, "P-LINK-PARENT-SYMLINK", kRefuse, kLeadsElsewhere);
  Expect(kLink, kParentFile, "P-LINK-PARENT-FILE", kConflict, kInTheWay);
  Expect(kLink, kParentMissing, "P-LINK-NO-PARENT", kConflict, kNoDirectory);
  Expect(kLink, kMountPoint, "P-LINK-MOUNT", kRefuse, kLeadsElsewhere);
  Expect(kLink, kCaseCollision, "P-LINK-CASE", kConflict, kCollision);
  Expect(kLink, kUnicodeCollision, "P-LINK-UNICODE", kConflict, kCollision);
  Expect(kLink, kSame, "P-LINK-SAME", kSkip);
  Expect(kLink, kImmutable, "P-LINK-IMMUTABLE", kRefuse, kNoRight);
  Expect(kLink, kUnwritable, "P-LINK-UNWRITABLE", kRefuse, kNoRight);
  Expect(kLink, kHidden, "P-LINK-HIDDEN", kConflict, kBothChanged);
  Expect(kLink, kAppeared, "P-LINK-APPEARED", kConflict, kBothChanged);
  Expect(kLink, kAbsent, "P-LINK-ABSENT", kConflict, kGone);
  Expect(kLink, kDirectoryHere, "P-LINK-DIRECTORY", kConflict, kInTheWay);
  Expect(kLink, kFileHere, "P-LINK-FILE", kRefuse, kContradiction);
  Expect(kLink, kOtherType, "P-LINK-OTHER-TYPE", kConflict, kInTheWay);
  Expect(kLink, kRetargeted, "P-LINK-RETARGETED", kConflict, kBothChanged);
  Expect(kLink, kEditedText, "P-LINK-EDITED-TEXT", kConflict, kBothChanged);
  Expect(kLink, kEdited, "P-LINK-EDITED", kConflict, kBothChanged);
  Expect(kLink, kMetadataDiffers, "P-LINK-METADATA", kConflict, kBothChanged);
  Expect(kLink, kNotEmpty, "P-LINK-NOT-EMPTY", kRefuse, kContradiction);
  Expect(kLink, kLinked, "P-LINK-LINKED", kApply);
  Expect(kLink, kAsSeen, "P-LINK-AS-SEEN", kApply);
}

TEST(PromoteCases, Special) {
  Expect(kSpecial, kUnknown, "P-SPECIAL-UNKNOWN", kRefuse, kNeverPromoted);
  Expect(kSpecial, kParentSymlink, "P-SPECIAL-PARENT-SYMLINK", kRefuse, kNeverPromoted);
  Expect(kSpecial, kParentFile, "P-SPECIAL-PARENT-FILE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kParentMissing, "P-SPECIAL-NO-PARENT", kRefuse, kNeverPromoted);
  Expect(kSpecial, kMountPoint, "P-SPECIAL-MOUNT", kRefuse, kNeverPromoted);
  Expect(kSpecial, kCaseCollision, "P-SPECIAL-CASE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kUnicodeCollision, "P-SPECIAL-UNICODE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kSame, "P-SPECIAL-SAME", kSkip);
  Expect(kSpecial, kImmutable, "P-SPECIAL-IMMUTABLE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kUnwritable, "P-SPECIAL-UNWRITABLE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kHidden, "P-SPECIAL-HIDDEN", kRefuse, kNeverPromoted);
  Expect(kSpecial, kAppeared, "P-SPECIAL-APPEARED", kRefuse, kNeverPromoted);
  Expect(kSpecial, kAbsent, "P-SPECIAL-ABSENT", kRefuse, kNeverPromoted);
  Expect(kSpecial, kDirectoryHere, "P-SPECIAL-DIRECTORY", kRefuse, kNeverPromoted);
  Expect(kSpecial, kFileHere, "P-SPECIAL-FILE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kOtherType, "P-SPECIAL-OTHER-TYPE", kRefuse, kNeverPromoted);
  Expect(kSpecial, kRetargeted, "P-SPECIAL-RETARGETED", kRefuse, kNeverPromoted);
  Expect(kSpecial, kEditedText, "P-SPECIAL-EDITED-TEXT", kRefuse, kNeverPromoted);
  Expect(kSpecial, kEdited, "P-SPECIAL-EDITED", kRefuse, kNeverPromoted);
  Expect(kSpecial, kMetadataDiffers, "P-SPECIAL-METADATA", kRefuse, kNeverPromoted);
  Expect(kSpecial, kNotEmpty, "P-SPECIAL-NOT-EMPTY", kRefuse, kNeverPromoted);
  Expect(kSpecial, kLinked, "P-SPECIAL-LINKED", kRefuse, kNeverPromoted);
  Expect(kSpecial, kAsSeen, "P-SPECIAL-AS-SEEN", kRefuse, kNeverPromoted);
}

TEST(PromoteCases, EveryPairHasItsOwnTag) {
  EXPECT_EQ(AllCases().size(), kIncomings * kReals);
  std::set<std::string_view> tags;
  std::set<std::string> sentences;
  for (size_t i = 0; i < kIncomings; ++i)
    for (size_t r = 0; r < kReals; ++r) {
      const Case& found = Decide(static_cast<Incoming>(i), static_cast<Real>(r));
      EXPECT_TRUE(tags.insert(found.tag).second) << found.tag;
      EXPECT_TRUE(sentences.insert(Sentence(found)).second) << found.tag;
    }
}

TEST(PromoteCases, AppliedOnlyIfRealityIsAsTheSandboxSawIt) {
  for (const Case& found : AllCases())
    if (found.verdict == kApply) {
      EXPECT_TRUE(found.real == kAsSeen || found.real == kLinked) << found.tag;
    }
}

TEST(PromoteCases, OnlyTextThatBothSidesEditedIsMerged) {
  for (const Case& found : AllCases())
    EXPECT_EQ(found.verdict == kMerge, found.incoming == kEdit && found.real == kEditedText)
        << found.tag;
}

TEST(PromoteCases, EveryRefusalHasAReasonAndACure) {
  for (const Case& found : AllCases()) {
    const bool stopped = found.verdict == kConflict || found.verdict == kRefuse;
    EXPECT_EQ(stopped, found.reason != kNone) << found.tag;
    EXPECT_EQ(stopped, !NameOf(found.reason).empty()) << found.tag;
    EXPECT_EQ(stopped, !Cure(found.reason).empty()) << found.tag;
  }
}

TEST(PromoteCases, ASentenceNamesBothSides) {
  EXPECT_EQ(Sentence(Decide(kEdit, kAbsent)), "the sandbox edited it; it is gone in reality");
}

// The document's table, as it should be.
std::string Document() {
  std::ostringstream text;
  for (size_t i = 0; i < kIncomings; ++i) {
    const auto incoming = static_cast<Incoming>(i);
    text << "\n### " << NameOf(incoming) << "\n";
    text << "| reality | tag | verdict | reason |\n| --- | --- | --- | --- |\n";
    for (size_t r = 0; r < kReals; ++r) {
      const Case& found = Decide(incoming, static_cast<Real>(r));
      text << "| " << NameOf(found.real) << " | `" << found.tag << "` | " << NameOf(found.verdict)
           << " | " << NameOf(found.reason) << " |\n";
    }
  }
  return text.str();
}

bool HasRow(const std::string& text, std::string_view first, std::string_view last = "") {
  const size_t at = text.find("\n| " + std::string(first) + " | ");
  if (at == std::string::npos) return false;
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1).ends_with(std::string(last) + " |");
}

TEST(PromoteCases, TheDocumentMatchesTheCode) {
  const std::string path = CLOCHE_SOURCE_DIR "/docs/promotion-cases.md";
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string text = content.str();
  for (size_t i = 0; i < kIncomings; ++i)
    EXPECT_TRUE(HasRow(text, NameOf(static_cast<Incoming>(i)))) << i;
  for (size_t r = 0; r < kReals; ++r) EXPECT_TRUE(HasRow(text, NameOf(static_cast<Real>(r)))) << r;
  for (const Case& found : AllCases())
    if (found.reason != kNone) {
      EXPECT_TRUE(HasRow(text, NameOf(found.reason), Cure(found.reason))) << found.tag;
    }
  const std::string heading = "\n## All cases\n";
  const size_t at = text.find(heading);
  ASSERT_NE(at, std::string::npos) << path;
  const std::string wanted = text.substr(0, at + heading.size()) + Document();
  if (std::getenv("CLOCHE_UPDATE_GOLDEN") != nullptr)  // NOLINT(concurrency-mt-unsafe)
    std::ofstream(path, std::ios::binary) << wanted;
  else
    EXPECT_TRUE(text == wanted) << "run this test with CLOCHE_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace cloche::rules
