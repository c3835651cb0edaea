#include "change/apply/prune.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ranges>
#include <string_view>
#include <vector>

#include "change/apply/apply.h"
#include "change/apply/calls.h"
#include "change/apply/side_store.h"
#include "sys/directory.h"

namespace cloche::apply {
namespace {

bool IsFinished(const Store& store, const std::string& id) {
  const auto entry = store.OpenEntry(id);
  if (!entry) return false;
  const auto head = Journal::ReadHead(entry->directory.get(), id);
  return head && (head->state == PromotionState::kDone || head->state == PromotionState::kUndone ||
                  head->state == PromotionState::kReverted);
}

constexpr std::string_view kAside = ".aside.";
constexpr size_t kFew = 256;
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// True: the store held only prepared files, and they have been moved aside.
bool MoveAside(const Promotion& promotion, const Store::Entry& entry, size_t prepared) {
  if (prepared <= kFew || !promotion.side_stores.empty()) return false;
  size_t there = 0;
  sys::Directory list(entry.files.get(), ".");
  while (list.Next() != nullptr) ++there;
  if (list.error() != 0 || there != prepared) return false;
  // Exchange, so that `files` always exists.
  constexpr char kEmpty[] = "empty";
  const int directory = entry.directory.get();
  if (mkdirat(directory, kEmpty, 0700) < 0 && errno != EEXIST) return false;
  if (renameat2(directory, kEmpty, directory, "files", RENAME_EXCHANGE) < 0) return false;
  const sys::Fd store(openat(directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string aside = std::string(kAside) + entry.id;
  if (renameat2(directory, kEmpty, store.get(), aside.c_str(), RENAME_NOREPLACE) == 0) return true;
  return renameat2(directory, kEmpty, directory, "files", RENAME_EXCHANGE) < 0;
}

}  // namespace

void Prune(const Store& store, int64_t now_ms) {
  const std::vector<std::string> ids = store.List();
  if (ids.size() <= kKeptPromotions) return;
  for (const std::string& id : ids | std::views::take(ids.size() - kKeptPromotions)) {
    if (const auto made_ms = MadeAtMs(id); !made_ms || now_ms - *made_ms < kKeptMs) continue;
    if (IsFinished(store, id)) (void)RemovePromotion(store, id);  // failures wait for the next time
  }
}

void DropPrepared(const Promotion& promotion, const Store::Entry& entry) {
  std::vector<const Step*> ours;
  for (const Step& step : promotion.steps) {
    if (step.forced) continue;  // somebody else's file
    const std::string name = std::to_string(step.number);
    if (!SameFile(IdentityAt(entry.Of(step), name), step.prepared) || !step.prepared.exists())
      continue;
    if (!IsWritten(step, entry.Of(step), name)) ours.push_back(&step);  // else somebody wrote to it
  }
  if (!MoveAside(promotion, entry, ours.size()))
    for (const Step* step : ours)
      (void)unlinkat(entry.Of(*step), std::to_string(step->number).c_str(),
                     step->directory ? AT_REMOVEDIR : 0);
  DropEmptySideStores(promotion);
}

void Sweep(int promotions, size_t most) {
  std::vector<std::string> names;
  sys::Directory list(promotions, ".");
  while (const dirent* entry = list.Next())
    if (std::string_view(entry->d_name).starts_with(kAside)) names.emplace_back(entry->d_name);
  // Does not descend: prepared directories are empty, so their entries are somebody else's.
  for (const std::string& name : names) {
    const sys::Fd aside(openat(promotions, name.c_str(), kDirectory));
    sys::Directory files(aside.get(), ".");
    while (const dirent* entry = files.Next()) {
      if (most-- == 0) return;
      if (unlinkat(files.fd(), entry->d_name, 0) < 0)
        (void)unlinkat(files.fd(), entry->d_name, AT_REMOVEDIR);
    }
    (void)unlinkat(promotions, name.c_str(), AT_REMOVEDIR);
  }
}

void SweepLater(const std::string& home) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return;  // the next promotion does it
  const sys::Fd ours(ends[0]);
  const pid_t child = fork();
  if (child != 0) {
    // The write end stays open until we exit, which wakes the child.
    if (child < 0) (void)close(ends[1]);
    return;
  }
  // Detach, and drop every inherited descriptor.
  (void)setsid();
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {0, 1, 2}) (void)dup2(null, fd);
  const int waiting = fcntl(ours.get(), F_DUPFD, 3);
  for (int fd = 3; fd < 1024; ++fd)
    if (fd != waiting) (void)close(fd);
  char byte;
  while (read(waiting, &byte, 1) < 0 && errno == EINTR) continue;
  const sys::Fd promotions(open((home + "/.local/state/cloche/promotions").c_str(), kDirectory));
  struct stat info;
  if (promotions.valid() && fstat(promotions.get(), &info) == 0 && info.st_uid == geteuid() &&
      GiveUpOtherCalls() == 0)
    Sweep(promotions.get());
  _exit(0);
}

}  // namespace cloche::apply
