#include "change/rules/trigger_tables.h"

namespace cloche::rules {
namespace {

using enum Judge;
using enum Format;

// clang-format off
constexpr TriggerClass kTable[] = {
    TriggerClass{
        "git-hooks",
        "git runs these files itself: on commit, checkout, merge, push.",
        "githooks(5); husky: typicode.github.io/husky",
        "**/.git/hooks/** **/.git/modules/**/hooks/** **/*.git/hooks/** **/.githooks/** "
        "**/.husky/** **/hooks/pre-commit **/hooks/post-commit **/hooks/prepare-commit-msg "
        "**/hooks/commit-msg **/hooks/post-checkout **/hooks/post-merge **/hooks/pre-push "
        "**/hooks/pre-rebase **/hooks/post-rewrite **/hooks/fsmonitor-watchman **/hooks/update "
        "**/hooks/post-update **/hooks/push-to-checkout **/hooks/proc-receive "
        "**/hooks/sendemail-validate "
        "**/hooks/pre-receive **/hooks/post-receive **/hooks/reference-transaction "
        "**/hooks/post-index-change **/hooks/pre-auto-gc **/hooks/pre-merge-commit "
        "**/hooks/applypatch-msg **/hooks/pre-applypatch **/hooks/post-applypatch",
        kScript},
    TriggerClass{
        "git-config",
        "Settings of git that name programs, which the next git command starts.",
        "git-config(1); git-lfs-config(5); gitcredentials(7)",
        "**/.git/config **/.git/config.worktree **/.git/modules/**/config "
        "**/.git/worktrees/**/config.worktree **/*.git/config **/.gitconfig ~/.config/git/config "
        "/etc/gitconfig **/.lfsconfig **/config **/config.worktree",
        kKeys, kGitConfig,
        "core.hookspath core.fsmonitor core.sshcommand core.pager core.editor core.askpass "
        "core.gitproxy core.worktree core.attributesfile core.alternaterefscommand "
        "core.commentchar sequence.editor gpg*.program credential.* *.textconv diff.external "
        "diff.*.command merge.*.driver filter.* alias.* pager.* include.path includeif.* "
        "*.insteadof *.pushinsteadof remote.*.url remote.*.pushurl remote.*.uploadpack "
        "remote.*.receivepack remote.*.vcs remote.*.proxy http.*proxy http.*sslverify protocol.* "
        "init.templatedir extensions.* interactive.difffilter *.cmd difftool.*.path "
        "mergetool.*.path man.*.path browser.*.path sendemail.* tar.*.command trailer.*.command "
        "uploadpack.packobjectshook submodule.*.update submodule.*.url safe.directory hook.* "
        "web.browser instaweb.* gpg.* lfs.* http.*sslca* http.*sslcert* http.*sslkey* "
        "http.*pinnedpubkey http.*curloptresolve http.*cookiefile http.*extraheader "
        "branch.*.remote=*/* branch.*.remote=*:* branch.*.remote=..* branch.*.pushremote=*/* "
        "branch.*.pushremote=*:* remote.pushdefault=*/* remote.pushdefault=*:* remote.*.promisor "
        "gc.recentobjectshook ^core.protect* ^transfer.fsck* fetch.bundleuri bundle.* imap.tunnel "
        "guitool.* "
        "maintenance.* svn.authorsprog svn-remote.*"},
    TriggerClass{
        "git-attributes",
        "Attributes choose the filters and drivers that git starts for a file.",
        "gitattributes(5)",
        "**/.gitattributes **/info/attributes ~/.config/git/attributes /etc/gitattributes",
        kGitAttributes},
    TriggerClass{
        "git-modules",
        "Says from where further repositories are fetched, and how.",
        "gitmodules(5)",
        "**/.gitmodules",
        kKeys, kGitConfig,
        "submodule.*.url submodule.*.update"},
    TriggerClass{
        "git-redirect",
        "Makes git read objects and settings from another place.",
        "gitrepository-layout(5); git-worktree(1); git-replace(1); git-fetch(1), remotes and "
        "branches",
        "**/objects/info/alternates **/objects/info/http-alternates **/commondir **/.git/gitdir "
        "**/.git/worktrees/**/gitdir **/info/grafts **/.git/shallow **/refs/replace/** "
        "**/.git/remotes/** **/.git/branches/** **/*.git/remotes/** **/*.git/branches/** "
        "**/.git/modules/**/remotes/* **/.git/modules/**/branches/*",
        kAny},
    TriggerClass{
        "git-packed-refs",
        "git reads a replacement in the place of the object that it is named after.",
        "git-replace(1); git-pack-refs(1)",
        "**/packed-refs",
        kPackedRefs},
    TriggerClass{
        "git-todo",
        "What a rebase, a merge or a cherry-pick that is under way does next, commands among it.",
        "git-rebase(1), exec and the author script; git-cherry-pick(1), sequencer",
        "**/.git/rebase-merge/** **/.git/rebase-apply/** **/.git/sequencer/** "
        "**/.git/worktrees/*/rebase-merge/** **/.git/worktrees/*/rebase-apply/** "
        "**/.git/worktrees/*/sequencer/** **/.git/modules/**/rebase-merge/** "
        "**/.git/modules/**/rebase-apply/** **/.git/modules/**/sequencer/**",
        kScript},
    TriggerClass{
        "mercurial",
        "Hooks, extensions and aliases of Mercurial and Sapling.",
        "hgrc(5); sapling-scm.com/docs/introduction",
        "**/.hg/hgrc **/.hg/hgrc-not-shared **/.sl/config ~/.hgrc ~/.config/hg/** ~/.slconfig "
        "~/.config/sapling/** /etc/mercurial/**",
        kKeys, kIni,
        "hooks.* extensions.* alias.* merge-tools.* merge-patterns.* ui.editor ui.merge "
        "ui.ssh ui.remotecmd ui.patch ui.askusername extdiff.* paths.* schemes.* hostsecurity.* "
        "hostfingerprints.* web.cacerts subpaths.* trusted.* filter* encode.* decode.* fix.* "
        "gpg.* email.method pager.*"},
    TriggerClass{
        "jujutsu",
        "Programs and aliases of Jujutsu.",
        "docs.jj-vcs.dev, Settings",
        "**/.jj/repo/config.toml **/.jj/working_copy/config.toml ~/.jjconfig.toml "
        "~/.config/jj/**",
        kKeys, kToml,
        "aliases.* ui.* merge-tools.* fix.* signing.* git.* remotes.* core.fsmonitor* fsmonitor* "
        "--scope*"},
    TriggerClass{
        "git-nested",
        "A second repository, or a .git that leads elsewhere, brings its own hooks and settings.",
        "gitrepository-layout(5); git-init(1), gitfile",
        "**/.git **/HEAD",
        kGitLink},
    TriggerClass{
        "ci-github",
        "Runs on the forge with the project's secrets.",
        "docs.github.com/actions, Workflow syntax; forgejo.org/docs/latest/user/actions",
        "**/.github/workflows/*.yml **/.github/workflows/*.yaml **/.gitea/workflows/* "
        "**/.forgejo/workflows/* **/action.yml **/action.yaml",
        kKeys, kYaml,
        "*.run @*.uses @*.image @*.container *.entrypoint *.shell *.script runs.* "
        "*pull_request_target* on*=*pull_request_target* *permissions*=*write* "
        "*runs-on*=*self-hosted* *.LD_PRELOAD *.NODE_OPTIONS *.BASH_ENV *.PATH *.PYTHONPATH "
        "*secrets*=inherit *.matrix.*=*;* *.matrix.*=*|* *.matrix.*=*&* *=*$(* *=*`* "
        "on*=*workflow_run* *workflow_run* "
        "^permissions"},
    TriggerClass{
        "ci-gitlab",
        "Runs on the forge with the project's secrets.",
        "docs.gitlab.com/ci/yaml",
        "**/.gitlab-ci.yml **/.gitlab-ci.yaml **/*.gitlab-ci.yml **/*.gitlab-ci.yaml "
        "**/ci/**/*.yml **/.ci/**/*.yml **/.gitlab/**/*.yml **/.gitlab/**/*.yaml **/.gitlab-ci/**",
        kKeys, kYaml,
        "*script @*image include @*services *entrypoint *command *trigger *.run *.LD_PRELOAD "
        "*.BASH_ENV"},
    TriggerClass{
        "ci-circle",
        "Runs on the build service with the project's secrets.",
        "circleci.com/docs/configuration-reference",
        "**/.circleci/**/*.yml **/.circleci/**/*.yaml",
        kKeys, kYaml,
        "*run *command @*image @orbs *entrypoint *shell"},
    TriggerClass{
        "ci-azure",
        "Runs on the build service with the project's secrets.",
        "learn.microsoft.com/azure/devops/pipelines/yaml-schema",
        "**/azure-pipelines*.yml **/azure-pipelines*.yaml **/.azure-pipelines/** "
        "**/.azure/**/*.yml **/.azuredevops/**/*.yml **/.pipelines/**/*.yml",
        kKeys, kYaml,
        "*script *bash *pwsh *powershell @*task @*container *template *inputs.* *repository"},
    TriggerClass{
        "ci-buildkite",
        "Runs on the build service with the project's secrets.",
        "buildkite.com/docs/pipelines",
        "**/buildkite.yml **/buildkite.yaml **/.buildkite/**/*.yml **/.buildkite/**/*.yaml",
        kKeys, kYaml,
        "*command *commands @*plugins *plugins.* @*image"},
    TriggerClass{
        "ci-drone",
        "Runs on the build service with the project's secrets.",
        "docs.drone.io; woodpecker-ci.org/docs",
        "**/.drone.yml **/.woodpecker.yml **/.woodpecker/*.yml **/.woodpecker/*.yaml "
        "**/.drone.yaml **/.woodpecker.yaml",
        kKeys, kYaml,
        "*commands @*image *entrypoint *settings.script *privileged *volumes"},
    TriggerClass{
        "ci-jenkins",
        "Runs on the build server with the project's secrets.",
        "jenkins.io/doc/book/pipeline/jenkinsfile",
        "**/Jenkinsfile **/Jenkinsfile.* **/*.jenkinsfile **/Jenkinsfile-* **/vars/*.groovy "
        "**/jenkins/**/*.groovy **/.drone.star **/.drone.jsonnet",
        kLiteralCode},
    TriggerClass{
        "ci-other",
        "Runs on a build or hosting service with the project's secrets.",
        "the reference of each service: Travis CI, Bitbucket Pipelines, AppVeyor, Cloud Build, "
        "Cirrus, Codemagic, Semaphore, CodeBuild, Render, Read the Docs, Tekton, builds.sr.ht, "
        "Zuul, Bitrise, Codefresh, Amplify, JitPack, Packit, Upsun, Harness, azd",
        "**/.travis.yml **/bitbucket-pipelines.yml **/appveyor.yml **/.appveyor.yml "
        "**/cloudbuild.yaml **/cloudbuild.yml **/.cirrus.yml **/codemagic.yaml "
        "**/.semaphore/*.yml **/buildspec.yml **/render.yaml **/app.yaml **/fly.yaml "
        "**/.readthedocs.yaml **/.readthedocs.yml **/.tekton/*.yaml **/.tekton/*.yml "
        "**/.builds/*.yml **/.build.yml **/.zuul.yaml **/zuul.yaml **/.zuul.d/*.yaml "
        "**/zuul.d/*.yaml **/bitrise.yml **/codefresh.yml **/amplify.yml **/jitpack.yml "
        "**/wercker.yml **/.packit.yaml **/.semaphore/*.yaml **/.cirrus.yaml **/.travis.yaml "
        "**/.platform.app.yaml **/.upsun/*.yaml **/.gitpod.yaml **/.harness/**/*.yaml "
        "**/azure.yaml",
        kKeys, kYaml,
        "*script *_script *install before_* after_* *commands *command *.run *args *entrypoint "
        "@*image *pipe @*name=*/* *post_* *pre_* *Command *jobs[] build.commands *hook* "
        "*steps*.script* *content *task*.run *.shell"},
    TriggerClass{
        "ci-toml",
        "Commands and plugins of a hosting service.",
        "docs.netlify.com/configure-builds/file-based-configuration; "
        "developers.cloudflare.com/workers/wrangler/configuration; "
        "fly.io/docs/reference/configuration; docs.railway.com; nixpacks.com; buildpacks.io, "
        "project descriptor",
        "**/netlify.toml **/wrangler.toml **/fly.toml **/railway.toml **/nixpacks.toml "
        "**/project.toml",
        kKeys, kToml,
        "*command* *cmd* *processes* *plugins* *release_command *build.* *dockerfile *image "
        "*buildpacks* *start *phases*"},
    TriggerClass{
        "ci-scripts",
        "Started by a build service before or after its steps.",
        "buildkite.com/docs/agent/hooks; jetbrains.com/help/teamcity, Kotlin DSL; "
        "devcenter.heroku.com, Procfile; docs.openhands.dev",
        "**/.circleci/*.sh **/.github/scripts/** **/.github/actions/**/*.sh **/Procfile "
        "**/.teamcity/** **/.buildkite/hooks/** **/.cirrus.star **/.openhands/*.sh "
        "**/.github/actions/**/*.js **/.github/actions/**/*.py **/bin/post_compile "
        "**/bin/pre_compile",
        kScript},
    TriggerClass{
        "commit-checks",
        "Programs that run on every commit.",
        "pre-commit.com; lefthook.dev; github.com/sds/overcommit; "
        "github.com/lint-staged/lint-staged; github.com/phpro/grumphp",
        "**/.pre-commit-config.yaml **/.pre-commit-hooks.yaml **/lefthook.yml **/lefthook.yaml "
        "**/.lefthook.yml **/.overcommit.yml **/.lintstagedrc **/.lintstagedrc.json "
        "**/.lintstagedrc.yml **/.lintstagedrc.yaml **/.lefthook.yaml **/lefthook-local.yml "
        "**/lefthook-local.yaml "
        "**/.lefthook-local.yml **/.lefthook-local.yaml **/.config/lefthook.yml "
        "**/.pre-commit-config.yml **/.huskyrc **/.huskyrc.yml **/grumphp.yml "
        "**/grumphp.yml.dist **/.overcommit.yaml",
        kKeys, kYaml,
        "*repo *entry *.id *language *run *script *command *_command *.js *.ts "
        "*additional_dependencies* *extends* *remotes* *scripts* *source_dir* *rc "
        "*plugin_directory* *required_executable* *grumphp*"},
    TriggerClass{
        "commit-check-scripts",
        "Programs that run on every commit, by the name of a folder.",
        "lefthook.dev, source_dir; github.com/sds/overcommit, plugin_directory; captainhook.info",
        "**/.lefthook/** **/.lefthook-local/** **/.git-hooks/** **/.captainhook/**",
        kScript},
    TriggerClass{
        "commit-checks-toml",
        "Programs that run on every commit.",
        "lefthook.dev; prek.j178.dev; commitizen-tools.github.io",
        "**/lefthook.toml **/lefthook-local.toml **/.lefthook.toml **/.lefthook-local.toml "
        "**/prek.toml **/.cz.toml",
        kKeys, kToml,
        "*run *script* *command* *hooks* *repo *entry *additional_dependencies* *extends* "
        "*remotes* *rc *shell *args"},
    TriggerClass{
        "commit-checks-json",
        "Programs that run on every commit.",
        "lefthook.dev; captainhook.info; typicode.github.io/husky",
        "**/lefthook.json **/lefthook-local.json **/.lefthook.json **/.lefthook-local.json "
        "**/captainhook.json **/.huskyrc.json",
        kKeys, kJson,
        "*run *script* *command* *hooks* *action* *plugins* *bootstrap *extends* *remotes* *rc "
        "*shell *args *includes*"},
    TriggerClass{
        "package-json",
        "npm, yarn and pnpm run these scripts, some on install.",
        "docs.npmjs.com, package.json and package spec (aliases); jestjs.io/docs/configuration; "
        "and the tools that read a key of it: mocha, ava, nyc, tap, ESLint, Babel, nodemon, "
        "wireit, semantic-release",
        "**/package.json !**/node_modules/**",
        kKeys, kJson,
        "scripts.* bin bin.* husky.* gitHooks.* simple-git-hooks.* pre-commit* lint-staged* "
        "@packageManager *dependencies.*=*/* overrides*=*/* resolutions*=*/* *overrides.*=*/* "
        "pnpm.onlyBuiltDependencies* pnpm.patchedDependencies* trustedDependencies* gypfile "
        "publishConfig.registry *dependencies.*=file:* *dependencies.*=*.tgz "
        "*dependencies.*=*.tar* *dependencies.*=.* *dependencies.*=~* exports.*=/* nx.targets.* "
        "*dependencies.*=npm:* overrides*=npm:* resolutions*=npm:* *overrides.*=npm:* "
        "*dependencies.*=link:* *dependencies.*=portal:* *dependencies.*=patch:* jest* mocha* "
        "ava* nyc* c8* tap* eslintConfig* prettier* babel* stylelint* remarkConfig* "
        "nodemonConfig* wireit.* release* release-it* commitlint* xo* browserify* "
        "pnpm.overrides* pnpm.allowNonAppliedPatches volta.extends imports.* config.* "
        "directories.bin browser.* standard* lerna* standard-version* size-limit* storybook* "
        "*hooks* *plugins* pre-push* post-* nano-staged* yorkie* binary.* build.* np.* postcss* "
        "browserslist*=extends* cspell*"},
    TriggerClass{
        "package-settings",
        "Says from where package managers take code, and what they start.",
        "npmrc(5); pip.pypa.io, Configuration; docs.conda.io, .condarc; guides.rubygems.org",
        "**/.npmrc **/.yarnrc **/pip.conf **/.pip/pip.conf **/.config/pip/* /etc/pip.conf "
        "**/.pydistutils.cfg **/.condarc **/.gemrc **/.pypirc **/.pnpmrc /etc/npmrc **/.mambarc "
        "**/.bowerrc",
        kKeys, kIni,
        "*registry* *script-shell* *shell* *ignore-scripts* *node-options* *onload-script* "
        "*init-module* *cafile* *strict-ssl* *proxy* *_auth* *token* *index-url* *find-links* "
        "*trusted-host* *yarn-path* *plugin* git prefix *globalconfig* *userconfig* *channels* "
        "*sources* *repository* *cert* *config-settings* *global-pnpmfile* pnpmfile "
        "*install-links* *default-channels* *python editor browser viewer *nodedir* *disturl* "
        "*node-mirror* *store-dir* *node-version* ca ca[] *node-gyp* *make *devdir* "
        "*keyring-provider* *constraint* *requirement* *target* *no-index* *build-option* "
        "*global-option* ^*ignore-scripts* ^*require-hashes* ^*strict-ssl*"},
    TriggerClass{
        "package-settings-yaml",
        "Says from where package managers take code, and what they start.",
        "yarnpkg.com/configuration/yarnrc; pnpm.io/settings; bundle-config(1)",
        "**/.yarnrc.yml **/.bundle/config **/pnpm-workspace.yaml",
        kKeys, kYaml,
        "*yarnPath *plugins* *npmRegistryServer *enableScripts *unsafeHttpWhitelist "
        "*enableStrictSsl *Proxy *initScope BUNDLE_* *onlyBuiltDependencies* *registry* "
        "*patchedDependencies* *overrides*=*/* *pnpmfile* *dangerously* *scriptShell* "
        "*shellEmulator* *nodeOptions* *configDependencies* *allowBuilds* ^*ignoreScripts* "
        "*injectEnvironmentFiles* *checksumBehavior* *catalog*=*:* *caFile* *CaFilePath* "
        "*executionEnv* *nodeMirror* *storeDir* *packageExtensions* ^*enableScripts"},
    TriggerClass{
        "package-settings-toml",
        "Says from where package managers take code, and what they load.",
        "bun.sh/docs/runtime/bunfig; docs.astral.sh/uv, Settings; "
        "python-poetry.org/docs/configuration; pdm-project.org; pipenv.pypa.io; pixi.sh; "
        "hatch.pypa.io",
        "**/bunfig.toml ~/.bunfig.toml **/uv.toml **/.config/uv/*.toml **/poetry.toml "
        "~/.config/pypoetry/*.toml **/pdm.toml **/.pdm.toml **/Pipfile **/pixi.toml "
        "**/.pixi/config.toml ~/.pixi/**/*.toml **/hatch.toml **/conda.toml **/rye.toml",
        kKeys, kToml,
        "*preload* *registry* *scopes* *index* *url* *source* *repositor* *scripts.* *tasks.* "
        "*hooks* *run.* *shell *env.* *find-links* *trusted* *cert* *plugin* "
        "*virtualenvs.prefer* *system-git* *python-path *loader* *activation* *build* "
        "*no-build-isolation* *git *path *channels* *allow-insecure* *define* *serve.static* "
        "*auth* *proxy* *file"},
    TriggerClass{
        "nuget",
        "Says from where .NET takes packages, and which tools it starts.",
        "learn.microsoft.com/nuget/reference/nuget-config-file",
        "**/nuget.config **/NuGet/*.Config ~/.nuget/NuGet/*",
        kKeys, kXml,
        "*packageSources* *packageSourceMapping* *config.add@ *apikeys* *credentials* *fallback* "
        "*proxy* *trusted*"},
    TriggerClass{
        "package-hooks",
        "Code that a package manager or a tool loads into itself.",
        "pnpm.io/pnpmfile; yarnpkg.com, Plugins and Plug'n'Play; github.com/nodejs/node-gyp; "
        "packaging.python.org, Entry points (pytest and others load what they name)",
        "**/.pnpmfile.cjs **/pnpmfile.js **/.yarn/releases/** **/.yarn/plugins/** **/.pnp.cjs "
        "**/*.dist-info/entry_points.txt **/*.egg-info/entry_points.txt **/.pnp.loader.mjs "
        "**/binding.gyp **/.pnp.js **/.pnp.data.json **/.yarn/sdks/** "
        "**/.yarn/unplugged/** **/.yarn/patches/**",
        kScript},
    TriggerClass{
        "python-setup",
        "Runs when the package is built or installed.",
        "setuptools.pypa.io",
        "**/setup.py",
        kLiteralCode},
    TriggerClass{
        "python-setup-cfg",
        "Names commands to be installed and code of the build.",
        "setuptools.pypa.io, setup.cfg; mypy, flake8, pylint and pytest, which read sections of "
        "it",
        "**/setup.cfg",
        kKeys, kIni,
        "options.entry_points* options.setup_requires* options.dependency_links* "
        "options.cmdclass* *cmdclass* easy_install.* install.* develop.* options.scripts* "
        "aliases.* distutils.* mypy.plugins mypy.python_executable *pylint* flake8* *addopts[] "
        "*addopts*=*-p* *addopts*=*plugin* *pythonpath* *required_plugins* *nosetests* "
        "build_ext.* egg_info.* *=attr:* *install_requires*=*://* *extras_require*=*://*"},
    TriggerClass{
        "python-project",
        "Names the code that builds the package, and commands to be installed.",
        "packaging.python.org, pyproject.toml; docs.pytest.org, Configuration; "
        "mypy.readthedocs.io; pylint.readthedocs.io; and the tools that read tool.* of it",
        "**/pyproject.toml",
        kKeys, kToml,
        "build-system.build-backend build-system.backend-path @build-system.requires "
        "project.scripts.* project.gui-scripts.* project.entry-points.* *.scripts.* *.tasks.* "
        "*.hooks.* *.cmdclass* *source*.url *index*.url *sources.*=*/* *.git *.url *.commands* "
        "*.cmd *addopts*=*-p* *build-script* *.poetry.build* *.plugins* *.shell *addopts[] "
        "*addopts*=*plugin* *pythonpath* *required_plugins* *init-hook* *init_hook* "
        "*load-plugins* *load_plugins* tool.mypy.*plugins* *python_executable *mypy_path* "
        "*.index* *find-links* *no-build-isolation* tool.setuptools.*build* *activation* "
        "*local-plugins* *.env.* *python_interpreter *venvs* tool.commitizen.* "
        "tool.semantic_release.* tool.bumpversion.*hooks* *.run tool.cibuildwheel.* "
        "tool.setuptools.dynamic* tool.hatch.version.source=code tool.hatch.*code* "
        "*dependencies*=*://* *dependencies.*.path *dependencies.*.file *dependencies*=*@*/*"},
    TriggerClass{
        "rust-build-script",
        "cargo builds and runs it before the package itself.",
        "doc.rust-lang.org/cargo/reference/build-scripts.html",
        "**/build.rs",
        kScript},
    TriggerClass{
        "rust-manifest",
        "Names build scripts, and where crates come from.",
        "doc.rust-lang.org/cargo/reference/manifest.html",
        "**/Cargo.toml",
        kKeys, kToml,
        "package.build package.links *dependencies.*.git *dependencies.*.registry "
        "*dependencies.*.path=/* patch.* replace.* *.proc-macro *registry-index "
        "*dependencies.*.package package.metadata.*command* package.metadata.*hook* "
        "package.metadata.*script* *.plugin *crate-type*=*proc* *crate_type*=*proc* "
        "*crate-type=*proc*"},
    TriggerClass{
        "rust-settings",
        "Names programs that cargo starts instead of, or around, its own.",
        "doc.rust-lang.org/cargo/reference/config.html; "
        "rust-lang.github.io/rustup/overrides.html",
        "**/.cargo/config **/.cargo/config.toml ~/.cargo/env **/rust-toolchain.toml "
        "~/.cargo/credentials.toml",
        kKeys, kToml,
        "*runner *rustc-wrapper *rustc-workspace-wrapper *.rustc *.rustdoc *linker alias.* env.* "
        "source.* registries.* registry.* *credential-* paths *rustflags* *rustdocflags* *.ar "
        "include patch.* unstable.* http.proxy http.cainfo http.check-revoke toolchain.path "
        "net.git-fetch-with-cli doc.browser *rustc-link-* *rustc-cdylib*"},
    TriggerClass{
        "ruby-packages",
        "Ruby code that bundler or CocoaPods runs to learn what to install.",
        "bundler.io/man/gemfile.5.html; guides.cocoapods.org; docs.fastlane.tools; "
        "github.com/guard/guard; capistranorb.com",
        "**/Gemfile **/gems.rb **/Podfile **/Brewfile **/Fastfile **/Dangerfile **/Gemfile.local "
        "**/Appraisals **/Berksfile **/Puppetfile **/Thorfile **/*.thor **/Guardfile **/Capfile "
        "**/Steepfile **/Cartfile **/Appfile **/Matchfile **/Pluginfile",
        kLiteralCode},
    TriggerClass{
        "php-packages",
        "composer runs these scripts, and takes code from these places.",
        "getcomposer.org/doc/04-schema.md",
        "**/composer.json",
        kKeys, kJson,
        "scripts.* repositories* config.allow-plugins* bin* autoload.files* autoload-dev.files* "
        "extra.*script* config.secure-http config.vendor-dir config.bin-dir extra.*plugin* "
        "extra.*patch* extra.hooks*"},
    TriggerClass{
        "php-startup",
        "PHP runs what these name before every script.",
        "php.net/manual, .user.ini files and auto_prepend_file",
        "**/.user.ini **/php.ini **/.php.ini /etc/php/** ~/.phpbrew/**/*.ini",
        kKeys, kIni,
        "*auto_prepend_file *auto_append_file *extension* *zend_extension* *include_path "
        "*sendmail_path *disable_functions *open_basedir *preload* *ffi* *xdebug*"},
    TriggerClass{
        "swift-package",
        "Swift code that builds and runs to learn what the package is.",
        "docs.swift.org/package-manager/PackageDescription; docs.tuist.dev",
        "**/Package.swift **/Package@swift-*.swift **/Project.swift **/Workspace.swift "
        "**/Tuist/**/*.swift",
        kLiteralCode},
    TriggerClass{
        "dotnet",
        "MSBuild runs the tasks of these files on the next build, or when an editor opens the "
        "project.",
        "learn.microsoft.com/visualstudio/msbuild, Task reference and Customize your build "
        "(Directory.Build.props and .targets)",
        "**/*.csproj **/*.fsproj **/*.vbproj **/*.vcxproj **/*.sqlproj **/*.wixproj **/*.proj "
        "**/*.njsproj **/*.pyproj **/*.esproj **/*.dcproj **/*.ilproj **/*.shproj **/*.nfproj "
        "**/*.props **/*.targets **/*.tasks **/*.csproj.user **/*.ruleset **/*.runsettings",
        kKeys, kXml,
        "*Exec@ *Exec.* *Target@ *UsingTask@ *UsingTask.* *Import@ *Sdk@ *Task.* *Code* "
        "*PreBuildEvent* *PostBuildEvent* *BuildEvent.* *CustomBuild* *CallTarget@ *Analyzer@ "
        "*RestoreSources* *RestoreAdditionalProjectSources* *NuGetPackageRoot* *ToolExe "
        "*ToolPath *CompilerPath *RunCommand *RunArguments *StartProgram *StartAction "
        "*Downloadfile@ *DataCollector@ *TestAdaptersPaths *CscToolPath *CscToolExe "
        "*Project@=*Sdk*/* *Delete@ *Copy@ *WriteLinesToFile@ *RoslynCodeTaskFactory* "
        "*ResultsDirectory *CustomAfter* *CustomBefore* *ProjectReference@*=*.xml* "
        "*ProjectReference@*=*.txt* *ProjectReference@*=*.dat* *AfterTargets* *BeforeTargets* "
        "*DirectoryBuild*Path *Extensions*Path *AdditionalLibPaths*"},
    TriggerClass{
        "dotnet-files",
        "MSBuild and its tools read these by their names.",
        "learn.microsoft.com/visualstudio/msbuild/msbuild-response-files; cakebuild.net; "
        "fsprojects.github.io/Paket",
        "**/Directory.Build.rsp **/MSBuild.rsp **/build.cake **/paket.dependencies",
        kScript},
    TriggerClass{
        "dotnet-settings",
        "Tools, SDKs and programs that .NET starts for a project.",
        "learn.microsoft.com/dotnet/core/tools, local tools and global.json; "
        "learn.microsoft.com/aspnet/core, launchSettings.json; "
        "github.com/OmniSharp/omnisharp-roslyn/wiki",
        "**/.config/dotnet-tools.json **/dotnet-tools.json **/global.json **/launchSettings.json "
        "**/omnisharp.json",
        kKeys, kJson,
        "msbuild-sdks* tools.* *executablePath *commandLineArgs *commandName "
        "*environmentVariables* *locationPaths* *enableScriptNuGetReferences *sdkPath *paths* "
        "*defaultTargetFramework"},
    TriggerClass{
        "lock-sources",
        "Says from where packages are downloaded, and what they must be.",
        "the lock files of npm, Yarn, pnpm, Bun, Cargo, Poetry, uv, PDM, Pipenv, Composer, "
        "Bundler, CocoaPods, Go, Nix, SwiftPM, pip, Gradle, Maven, Deno, Mix, Dart, Terraform, "
        "NuGet, Conan, Helm",
        "**/package-lock.json **/npm-shrinkwrap.json **/yarn.lock **/pnpm-lock.yaml **/bun.lock "
        "**/Cargo.lock **/poetry.lock **/uv.lock **/pdm.lock **/Pipfile.lock **/composer.lock "
        "**/Gemfile.lock **/Podfile.lock **/go.sum **/go.mod **/go.work **/flake.lock "
        "**/Package.resolved **/*requirements*.txt **/*requirements*.in **/constraints*.txt "
        "**/requirements/*.txt **/requirements/*.in **/gradle-wrapper.properties "
        "**/maven-wrapper.properties **/gradle.lockfile **/deno.lock **/pylock.toml **/mix.lock "
        "**/pubspec.lock **/pixi.lock **/.terraform.lock.hcl **/packages.lock.json **/shard.lock "
        "**/rebar.lock **/cabal.project.freeze **/stack.yaml.lock **/conan.lock **/Chart.lock "
        "**/buf.lock **/gems.locked **/mise.lock !**/node_modules/**",
        kLock},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> ProjectTriggers() { return kTable; }

}  // namespace cloche::rules
