#include "change/apply/links.h"

#include <algorithm>

#include "change/apply/promote_fixture.h"
#include "change/rules/glob.h"
#include "change/rules/triggers.h"

namespace cloche::apply {
namespace {

class LinksOf : public Promotes {
 protected:
  void SetUp() override {
    Promotes::SetUp();
    if (IsSkipped()) return;
    Put(real_ / ".git/hooks/update.sample", "x");
    Put(real_ / "tools/run", "old");
  }
  static void Link(const std::string& target, const fs::path& at) {
    fs::create_directories(at.parent_path());
    fs::remove_all(at);
    fs::create_symlink(target, at);
  }
  auto DryRun() {
    Wish wish = RootsWish();
    wish.allow_triggers = false;
    wish.home = home_;
    auto store = Store::Open(home_);
    BirthFiles nothing;
    return Promote(*store, Layout(), std::move(wish), nothing, "sb_test", true);
  }
  std::vector<Alarm> Alarms() {
    auto done = DryRun();
    EXPECT_TRUE(done) << done.error().message;
    if (!done) return {};
    EXPECT_TRUE(done->conflicts.empty());
    std::erase_if(done->alarms, [](const Alarm& each) { return !each.alarm; });
    return done->alarms;
  }
  bool Alarmed(const fs::path& path, const std::string& kind) {
    const auto alarms = Alarms();
    return std::ranges::any_of(
        alarms, [&](const Alarm& each) { return each.path == path && each.kind == kind; });
  }
};

TEST_F(LinksOf, ALinkInPlaceOfTheHooksIsAnAlarm) {
  Put(upper_ / "tools/pre-commit", "id", 0755);
  Link("../tools", upper_ / ".git/hooks");
  EXPECT_TRUE(Alarmed(real_ / ".git/hooks", "git-hooks"));
  EXPECT_TRUE(Alarmed(real_ / "tools/pre-commit", "git-hooks"));
}

TEST_F(LinksOf, AFileIsJudgedByTheNameThatARealLinkGivesIt) {
  for (const char* target : {"../tools", "../tools/", "./../tools/../tools"}) {
    Link(target, real_ / ".git/hooks");
    Put(upper_ / "tools/pre-commit", "id", 0755);
    EXPECT_TRUE(Alarmed(real_ / "tools/pre-commit", "git-hooks")) << target;
  }
  Link(real_ / "tools", real_ / ".git/hooks");
  EXPECT_TRUE(Alarmed(real_ / "tools/pre-commit", "git-hooks")) << "absolute";
}

TEST_F(LinksOf, GitSettingsLeadToHooksAttributesAndMoreSettings) {
  const auto config = [&](const fs::path& at, const std::string& text) {
    fs::create_directories(at.parent_path());
    Put(at, text);
  };
  Put(upper_ / "gh/pre-commit", "id", 0755);
  Put(upper_ / "gh/shared.inc", "[core]\nfsmonitor = id\n");
  Put(upper_ / "gh/attributes", "* filter=id\n");
  const std::string top = real_.string();
  const auto hooks = [&] { return Alarmed(real_ / "gh/pre-commit", "git-hooks"); };
  const auto settings = [&] { return Alarmed(real_ / "gh/shared.inc", "git-config"); };
  EXPECT_FALSE(hooks());
  EXPECT_FALSE(settings());

  config(home_ / ".gitconfig", "[core]\nhooksPath = " + top + "/gh\n");
  EXPECT_TRUE(hooks()) << "of the home, absolute";
  config(home_ / ".gitconfig", "[core]\nhooksPath = gh\n");
  EXPECT_TRUE(hooks()) << "of the home, relative to each repository";
  fs::remove(home_ / ".gitconfig");
  config(home_ / ".config/git/config", "[core]\nhooksPath = gh\n");
  EXPECT_TRUE(hooks()) << "of ~/.config/git";
  config(home_ / ".config/git/config",
         "[includeIf \"gitdir:/\"]\npath = " + top + "/gh/shared.inc\n");
  EXPECT_TRUE(settings()) << "of ~/.config/git, included";
  fs::remove(home_ / ".config/git/config");

  config(real_ / ".git/config.worktree", "[core]\nhooksPath = gh\n");
  EXPECT_TRUE(hooks()) << "of a work tree";
  fs::remove(real_ / ".git/config.worktree");
  config(real_ / ".git/config", "[include]\npath = more\n");
  config(real_ / ".git/more", "[core]\nhooksPath = gh\n");
  EXPECT_TRUE(hooks()) << "included";
  config(real_ / ".git/more", "[include]\npath = ../gh/shared.inc\n");
  EXPECT_TRUE(settings()) << "included twice";
  config(real_ / ".git/config", "[core]\nattributesFile = " + top + "/gh/attributes\n");
  EXPECT_TRUE(Alarmed(real_ / "gh/attributes", "git-attributes"));
  config(real_ / ".git/config", "[include]\npath = config\n");
  EXPECT_FALSE(hooks()) << "one that includes itself";
  config(real_ / ".git/modules/lib/config", "[core]\nworktree = ../../../lib\nhooksPath = ../gh\n");
  EXPECT_TRUE(hooks()) << "of a submodule";
}

TEST_F(LinksOf, AWorkTreeUsesTheSettingsOfItsRepository) {
  const auto config = [&](const fs::path& at, const std::string& text) {
    fs::create_directories(at.parent_path());
    Put(at, text);
  };
  fs::remove_all(real_ / ".git");
  const fs::path main = home_ / "main";
  Put(real_ / ".git", "gitdir: " + (main / ".git/worktrees/w").string() + "\n");
  config(main / ".git/worktrees/w/commondir", "../..\n");
  config(main / ".git/config", "[core]\nhooksPath = gh\n");
  Put(upper_ / "gh/pre-commit", "id", 0755);
  const auto hooks = [&] { return Alarmed(real_ / "gh/pre-commit", "git-hooks"); };
  EXPECT_TRUE(hooks()) << "of the repository";
  config(main / ".git/config", "");
  EXPECT_FALSE(hooks());
  config(main / ".git/worktrees/w/config.worktree", "[core]\nhooksPath = gh\n");
  EXPECT_TRUE(hooks()) << "of the work tree";
  Put(real_ / ".git", "gitdir: " + (main / ".git/modules/s").string() + "\n");
  EXPECT_FALSE(hooks());
  config(main / ".git/modules/s/config", "[core]\nworktree = ../../../real\nhooksPath = gh\n");
  EXPECT_TRUE(hooks()) << "of a submodule";
}

TEST_F(LinksOf, AProgramNamedInGitSettingsIsAHook) {
  Put(real_ / "kit/x.sh", "cat", 0755);
  Put(upper_ / "kit/x.sh", "id; cat", 0755);
  const auto runs = [&](const std::string& text) {
    Put(real_ / ".git/config", text);
    return Alarmed(real_ / "kit/x.sh", "git-hooks");
  };
  EXPECT_FALSE(runs("[core]\nbare = false\n"));
  for (const char* text :
       {"[filter \"f\"]\nclean = ./kit/x.sh %f\n", "[filter \"a/b\"]\nsmudge = kit/x.sh\n",
        "[filter \"f\"]\nprocess = sh kit/x.sh\n", "[diff \"f\"]\ntextconv = 'kit/x.sh'\n",
        "[diff \"f\"]\ncommand = \"kit/x.sh\"\n", "[core]\nfsmonitor = kit/x.sh\n",
        "[core]\nsshCommand = kit/x.sh -v\n", "[merge \"f\"]\ndriver = kit/x.sh %A %B\n",
        "[alias]\nup = \"!cd a && ../app/../kit/x.sh;true\"\n", "[alias]\nup = !kit/x.sh\n",
        "[credential]\nhelper = !kit/x.sh\n", "[pager]\nlog = kit/x.sh\n"})
    EXPECT_TRUE(runs(text)) << text;
  EXPECT_TRUE(runs("[core]\neditor = \"" + (real_ / "kit/x.sh").string() + "\"\n"));
  EXPECT_FALSE(runs("[alias]\nup = log kit/x.sh\n")) << "git's own command";
}

TEST_F(LinksOf, AFileThatAMakefileIncludesIsAMakefile) {
  Put(real_ / "Makefile",
      "include config.inc\n-include $(TOP)/mk/*.conf local.mk\nall:\n\t@$(LINTER) a.c\n");
  Put(real_ / "config.inc", "A=1\n");
  Put(real_ / "config.mk", "LINTER = true\nLIST = a\n");
  const auto alarms = [&](const char* path, const char* text) {
    Put(upper_ / path, text);
    const bool found = Alarmed(real_ / path, "make");
    fs::remove(upper_ / path);
    return found;
  };
  EXPECT_TRUE(alarms("config.inc", "A:=$(shell id)\n"));
  EXPECT_FALSE(alarms("config.inc", "A=2\n"));
  EXPECT_TRUE(alarms("config.inc.sh", "A:=$(shell id)\n")) << "made by a rule of make itself";
  EXPECT_TRUE(alarms("mk/a.conf", "A:=$(shell id)\n"));
  EXPECT_TRUE(alarms("config.mk", "LINTER = id\nLIST = a\n")) << "a recipe elsewhere starts it";
  EXPECT_FALSE(alarms("config.mk", "LINTER = true\nLIST = a b\n"));
  EXPECT_FALSE(alarms("other.inc", "A:=$(shell id)\n"));
}

TEST_F(LinksOf, ScriptsThatRunUnaskedAreJudgedByTheFileThatNamesThem) {
  Put(real_ / "package.json",
      R"({"scripts": {"postinstall": "node scripts/post", "test": "sh scripts/test.sh"}})");
  Put(real_ / ".claude/settings.json",
      R"({"hooks": {"Stop": [{"hooks": [{"command": "$CLAUDE_PROJECT_DIR/scripts/stop.sh"}]}]}})");
  Put(real_ / ".pre-commit-config.yaml", "repos:\n- hooks:\n  - entry: ./scripts/pc.sh\n");
  Put(real_ / ".vscode/tasks.json",
      R"({"tasks": [{"command": "./scripts/o.sh", "runOptions": {"runOn": "folderOpen"}}]})");
  Put(real_ / ".envrc", "source_env_if_exists scripts/env.sh\n");
  Put(real_ / ".gitlab-ci.yml", "include:\n  - local: /scripts/ci.yml\n");
  Put(upper_ / "scripts/ci.yml", "a:\n  script: id\n");
  EXPECT_TRUE(Alarmed(real_ / "scripts/ci.yml", "ci-gitlab"));
  for (const char* name : {"post.js", "stop.sh", "pc.sh", "o.sh", "env.sh"}) {
    Put(upper_ / "scripts" / name, "id");
    EXPECT_TRUE(Alarmed(real_ / "scripts" / name, "named-script")) << name;
  }
  Put(upper_ / "scripts/test.sh", "id");
  EXPECT_FALSE(Alarmed(real_ / "scripts/test.sh", "named-script")) << "it runs when asked for";
}

TEST_F(LinksOf, FollowsSeveralLinksOfBothSides) {
  Put(real_ / "g/hooks/x", "x");
  fs::remove_all(real_ / ".git");
  Link("g", real_ / ".git");
  Link("../a/b", real_ / "g/hooks");
  Link("../c", real_ / "a/b");
  Put(real_ / "c/x", "x");
  Put(upper_ / "c/pre-commit", "id", 0755);
  EXPECT_TRUE(Alarmed(real_ / "c/pre-commit", "git-hooks"));
  // A link on the way now leads elsewhere, to files that nobody changes.
  fs::remove_all(upper_ / "c");
  Put(real_ / "d/pre-commit", "id", 0755);
  Link("../d", upper_ / "a/b");
  EXPECT_TRUE(Alarmed(real_ / "a/b", "git-hooks"));
}

TEST_F(LinksOf, ALinkThatTheSandboxDeletesStillCounts) {
  Link("../tools", real_ / ".git/hooks");
  White(upper_ / ".git");
  Put(upper_ / "tools/pre-commit", "id", 0755);
  EXPECT_TRUE(Alarmed(real_ / "tools/pre-commit", "git-hooks"));
}

TEST_F(LinksOf, LinksFromTheHomeDirectoryIntoTheProjectCount) {
  Put(real_ / "bashrc", "alias a=b");
  Put(real_ / "fish/config.fish", "x");
  Link(real_ / "bashrc", home_ / ".bashrc");
  Link("../../real/fish", home_ / ".config/fish");
  Link(real_ / "tools/run", home_ / ".local/bin/run");
  Put(upper_ / "bashrc", "alias a=evil");
  Put(upper_ / "fish/config.fish", "evil");
  Put(upper_ / "tools/run", "evil", 0755);
  Put(upper_ / "other", "evil");
  EXPECT_TRUE(Alarmed(real_ / "bashrc", "shell-startup"));
  EXPECT_TRUE(Alarmed(real_ / "fish/config.fish", "shell-startup"));
  EXPECT_TRUE(Alarmed(real_ / "tools/run", "bin-directory"));
  EXPECT_FALSE(Alarmed(real_ / "other", "shell-startup"));
}

TEST_F(LinksOf, GitFilesThatLeadElsewhereCount) {
  Put(upper_ / "tools/pre-commit", "id", 0755);
  Put(real_ / ".git/config", "[core]\n\thooksPath = tools\n");
  EXPECT_TRUE(Alarmed(real_ / "tools/pre-commit", "git-hooks"));
  fs::remove_all(real_ / ".git");
  fs::remove_all(upper_ / "tools");
  Put(real_ / ".git", "gitdir: store\n");
  Put(real_ / "store/config", "[core]\n");
  Put(upper_ / "store/config", "[core]\nfsmonitor = ./evil\n");
  EXPECT_TRUE(Alarmed(real_ / "store/config", "git-config"));
  Put(upper_ / ".git", "gitdir: elsewhere\n");
  EXPECT_TRUE(Alarmed(real_ / ".git", "git-nested"));
}

TEST_F(LinksOf, EachNameOfAHardLinkIsJudged) {
  Put(upper_ / "a/one", "id", 0755);
  fs::create_directories(upper_ / ".git/hooks");
  fs::create_hard_link(upper_ / "a/one", upper_ / ".git/hooks/pre-commit");
  EXPECT_TRUE(Alarmed(real_ / ".git/hooks/pre-commit", "git-hooks"));
}

TEST_F(LinksOf, LinksInCirclesEnd) {
  Link(".", real_ / "here");
  Link("loop", real_ / "loop");
  Link("pong", real_ / "ping");
  Link("ping", real_ / "pong");
  Link("..", upper_ / "tools/up");
  Put(upper_ / "tools/run", "new");
  EXPECT_TRUE(Alarms().empty());
}

TEST_F(LinksOf, TooManyNamesAreAnAlarm) {
  for (int i = 0; i < 300; ++i) Link("tools", real_ / ("link" + std::to_string(i)));
  Put(upper_ / "tools/run", "new");
  EXPECT_TRUE(Alarmed(real_ / "tools/run", "links"));
}

TEST_F(LinksOf, ManyLinksToTheirOwnDirectoryCostLittle) {
  for (int i = 0; i < 3'000; ++i) Link(".", upper_ / ("here" + std::to_string(i)));
  for (int i = 0; i < 50; ++i) Put(upper_ / ("file" + std::to_string(i)), "new");
  EXPECT_TRUE(Alarmed(real_ / "file0", "links"));
}

TEST_F(LinksOf, SettingsThatAreLinksIntoTheProjectStayOutside) {
  Put(real_ / "settings/config.toml", "[sandbox]");
  Link(real_ / "settings", home_ / ".config/cloche");
  Put(upper_ / "settings/config.toml", "[sandbox]\nallow = [\"*:443\"]");
  const auto done = DryRun();
  ASSERT_TRUE(done);
  ASSERT_EQ(done->conflicts.size(), 1u);
  EXPECT_EQ(done->conflicts[0].path, real_ / "settings/config.toml");
}

TEST_F(LinksOf, EverydayLinksDoNotAlarm) {
  Link("../pkg/cli.js", real_ / "node_modules/.bin/pkg");
  Link("../packages/pkg", real_ / "node_modules/pkg");
  Put(real_ / "packages/pkg/cli.js", "old", 0755);
  Put(upper_ / "packages/pkg/cli.js", "new", 0755);
  Put(upper_ / "packages/pkg/lib.js", "new");
  Link("lib.js", upper_ / "packages/pkg/same.js");
  Link("AGENTS.md", real_ / "CLAUDE.md");
  Put(upper_ / "AGENTS.md", "Run make.");
  EXPECT_TRUE(Alarms().empty()) << Alarms()[0].path << Alarms()[0].kind;
}

// For every pattern of the table, replace each directory above a match by a link to an unwatched
// directory that holds the file.
TEST_F(LinksOf, NoParentOfAnyPatternCanBecomeALinkUnseen) {
  size_t cases = 0;
  std::vector<std::pair<std::string, std::string>> expected;  // path, pattern
  const auto instance = [](std::string_view glob) {
    std::string path;
    for (size_t at = 0; at < glob.size();) {
      const size_t end = std::min(glob.find('/', at), glob.size());
      const std::string_view part = glob.substr(at, end - at);
      std::string name = part == "**" ? "x" : "";
      for (const char c : part == "**" ? std::string_view() : part)
        name += c == '*' || c == '?' ? 'x' : c;
      path += (path.empty() ? "" : "/") + name;
      at = end + 1;
    }
    return path;
  };
  for (const rules::TriggerClass& each : rules::TriggerTable()) {
    if (each.judge == rules::Judge::kNotice) continue;
    rules::AnyWord(each.globs, [&](std::string_view glob) {
      // The home directory has its own roots; system directories are not part of this tree.
      if (glob.starts_with('!') || glob.starts_with('/') || glob == "**") return false;
      const bool of_home = glob.starts_with("~/");
      if (of_home) glob.remove_prefix(2);
      bool anywhere = false;
      while (glob.starts_with("**/")) {
        glob.remove_prefix(3);
        anywhere = true;
      }
      const std::string path = instance(glob);
      for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
        const std::string parent = path.substr(0, end);
        const std::string place = anywhere ? "case" + std::to_string(cases) + "/" : "";
        ++cases;
        const rules::Roots roots{of_home ? "/none" : "/p", of_home ? "/p" : "/none"};
        const std::string link = "/p/" + place + parent;
        const rules::FileChange change{
            .path = link,
            .after = rules::Version{.type = change::FileType::kSymlink, .content = "/x/behind"}};
        const auto found = rules::FindTriggers(change, roots);
        EXPECT_TRUE(!found.empty() && found[0].severity == rules::Severity::kAlarm)
            << link << " leads to " << glob;
        if (!anywhere) continue;
        // Also through a whole plan, with the file behind the link.
        Link(real_ / place / "behind", upper_ / (place + parent));
        Put(upper_ / place / "behind" / path.substr(end + 1), "new");
        expected.emplace_back(real_ / (place + parent), std::string(glob));
      }
      return false;
    });
  }
  EXPECT_GT(cases, 200u);
  std::set<std::string> alarmed;
  for (const Alarm& each : Alarms()) alarmed.insert(each.path);
  for (const auto& [path, glob] : expected)
    EXPECT_TRUE(alarmed.contains(path)) << path << " for " << glob;
}

}  // namespace
}  // namespace cloche::apply
