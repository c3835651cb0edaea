// cloche-git: answers questions about a project's git repository. Reads with the caller's rights,
// runs nothing, writes only its answer.
//   note PROJECT SINCE_NS   the commit, and which files differ from it: JSON
//   texts PROJECT COMMIT    reads paths from standard input, each after its length (32 bits);
//                           answers each with 'a' (absent), '?' (not a file, or unknown), or
//                           'f' or 'x' (executable), length and text
#include <git2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace cloche::git {
namespace {

constexpr size_t kMostDirty = 20'000;
constexpr size_t kMostText = 32 << 20;
constexpr uint32_t kMostPath = 64 << 10;

template <auto kFree>
struct Freer {
  void operator()(auto* object) const { kFree(object); }
};
using Repository = std::unique_ptr<git_repository, Freer<git_repository_free>>;
using Object = std::unique_ptr<git_object, Freer<git_object_free>>;
using Tree = std::unique_ptr<git_tree, Freer<git_tree_free>>;
using TreeEntry = std::unique_ptr<git_tree_entry, Freer<git_tree_entry_free>>;
using Blob = std::unique_ptr<git_blob, Freer<git_blob_free>>;
using StatusList = std::unique_ptr<git_status_list, Freer<git_status_list_free>>;
using Index = std::unique_ptr<git_index, Freer<git_index_free>>;

// Opens the repository whose work tree is this very directory. Only the repository's own
// configuration counts.
Repository Open(const char* project) {
  for (const int level : {GIT_CONFIG_LEVEL_SYSTEM, GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL,
                          GIT_CONFIG_LEVEL_PROGRAMDATA})
    git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
  git_repository* opened = nullptr;
  if (git_repository_open_ext(&opened, project, GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr) < 0)
    return nullptr;
  Repository repository(opened);
  const char* tree = git_repository_workdir(opened);  // ends with a slash
  const std::string expected = std::string(project) + "/";
  return tree && expected == tree ? std::move(repository) : nullptr;
}

// Files that differ from the commit, or were touched since then.
bool FindDirty(git_repository* repository, const std::string& project, int64_t since_ns,
               std::set<std::string>& dirty) {
  git_status_options options;
  git_status_options_init(&options, GIT_STATUS_OPTIONS_VERSION);
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  options.flags = GIT_STATUS_OPT_EXCLUDE_SUBMODULES | GIT_STATUS_OPT_NO_REFRESH;
  git_status_list* list = nullptr;
  if (git_status_list_new(&list, repository, &options) < 0) return false;
  const StatusList owned(list);
  for (size_t i = 0; i < git_status_list_entrycount(list); ++i) {
    const git_status_entry* entry = git_status_byindex(list, i);
    if (entry->status == GIT_STATUS_CURRENT) continue;
    for (const git_diff_delta* delta : {entry->head_to_index, entry->index_to_workdir}) {
      if (delta == nullptr) continue;
      if (delta->old_file.path) dirty.insert(delta->old_file.path);
      if (delta->new_file.path) dirty.insert(delta->new_file.path);
    }
    if (dirty.size() > kMostDirty) return false;
  }
  git_index* opened = nullptr;
  if (git_repository_index(&opened, repository) < 0) return false;
  const Index index(opened);
  for (size_t i = 0; i < git_index_entrycount(opened); ++i) {
    const git_index_entry* entry = git_index_get_byindex(opened, i);
    struct stat info;
    const bool untouched =
        lstat((project + "/" + entry->path).c_str(), &info) == 0 &&
        int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec < since_ns;
    // If the user told git to ignore changes to a file, it may differ.
    const bool looked_at = (entry->flags & GIT_INDEX_ENTRY_VALID) == 0 &&
                           (entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) == 0;
    if (!untouched || !looked_at) dirty.insert(entry->path);
    if (dirty.size() > kMostDirty) return false;
  }
  return true;
}

int Note(const char* project, int64_t since_ns) {
  const Repository repository = Open(project);
  if (!repository) return 1;
  git_oid head;
  if (git_reference_name_to_id(&head, repository.get(), "HEAD") < 0) return 1;
  std::set<std::string> dirty;
  if (!FindDirty(repository.get(), project, since_ns, dirty)) return 1;
  char commit[GIT_OID_HEXSZ + 1];
  git_oid_tostr(commit, sizeof commit, &head);
  const nlohmann::json note = {{"project", project}, {"commit", commit}, {"dirty", dirty}};
  try {
    puts(note.dump().c_str());
  } catch (const nlohmann::json::exception&) {
    return 1;  // not UTF-8: rather fail than report a name nobody can find again
  }
  return 0;
}

void Say(char letter) { putchar(letter); }

void Answer(git_repository* repository, git_tree* tree, const std::string& path) {
  git_tree_entry* found = nullptr;
  const int error = git_tree_entry_bypath(&found, tree, path.c_str());
  const TreeEntry entry(found);
  if (error == GIT_ENOTFOUND) return Say('a');
  if (error < 0) return Say('?');
  const git_filemode_t mode = git_tree_entry_filemode(found);
  if (mode != GIT_FILEMODE_BLOB && mode != GIT_FILEMODE_BLOB_EXECUTABLE) return Say('?');
  git_blob* opened = nullptr;
  if (git_blob_lookup(&opened, repository, git_tree_entry_id(found)) < 0) return Say('?');
  const Blob blob(opened);
  const auto size = static_cast<size_t>(git_blob_rawsize(opened));
  if (size > kMostText) return Say('?');
  Say(mode == GIT_FILEMODE_BLOB_EXECUTABLE ? 'x' : 'f');
  const auto length = static_cast<uint32_t>(size);
  fwrite(&length, sizeof length, 1, stdout);
  fwrite(git_blob_rawcontent(opened), 1, size, stdout);
}

int Texts(const char* project, const char* commit) {
  const Repository repository = Open(project);
  git_oid id;
  if (!repository || git_oid_fromstr(&id, commit) < 0) return 1;
  git_object* object = nullptr;
  if (git_object_lookup(&object, repository.get(), &id, GIT_OBJECT_COMMIT) < 0) return 1;
  const Object owned(object);
  git_object* peeled = nullptr;
  if (git_object_peel(&peeled, object, GIT_OBJECT_TREE) < 0) return 1;
  const Tree tree(reinterpret_cast<git_tree*>(peeled));
  uint32_t length = 0;
  while (fread(&length, sizeof length, 1, stdin) == 1 && length > 0 && length <= kMostPath) {
    std::string path(length, '\0');
    if (fread(path.data(), 1, length, stdin) != length) return 1;
    Answer(repository.get(), tree.get(), path);
    fflush(stdout);
  }
  return 0;
}

int Main(int argc, char** argv) {
  if (argc != 4) {
    fputs("cloche-git is started by cloche-promote\n", stderr);
    return 2;
  }
  git_libgit2_init();
  if (strcmp(argv[1], "note") == 0) return Note(argv[2], atoll(argv[3]));
  if (strcmp(argv[1], "texts") == 0) return Texts(argv[2], argv[3]);
  return 2;
}

}  // namespace
}  // namespace cloche::git

int main(int argc, char** argv) { return cloche::git::Main(argc, argv); }
