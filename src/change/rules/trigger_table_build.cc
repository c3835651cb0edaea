#include "change/rules/trigger_tables.h"

namespace cloche::rules {
namespace {

using enum Judge;
using enum Format;

// clang-format off
constexpr TriggerClass kTable[] = {
    TriggerClass{
        "make",
        "Recipes run on the next build.",
        "gnu.org/software/make/manual; just.systems",
        "**/Makefile **/GNUmakefile **/Makefile.am **/Makefile.in **/*.mk **/*.mak **/Kbuild "
        "**/justfile **/.justfile **/*.make **/BSDmakefile **/*.just **/Makefile.* **/*.d "
        "**/.depend **/*.mk.* **/*.dep **/.deps/*.Po **/.deps/*.Plo **/.deps/*.TPo "
        "!**/Makefile.toml !**/Makefile.PL !**/Makefile.md !**/*.d/**",
        kMake},
    TriggerClass{
        "cmake",
        "Commands that run when the project is configured, built or installed.",
        "cmake.org/cmake/help/latest/manual/cmake-commands.7.html",
        "**/CMakeLists.txt **/CMakeLists.txt.* **/*.cmake **/*.cmake.in !**/CMakeLists.txt.user",
        kCMake},
    TriggerClass{
        "cmake-cache",
        "What a build was configured with: compilers, launchers and programs of the next one.",
        "cmake.org/cmake/help/latest/manual/cmake.1.html, The CMake Cache",
        "**/CMakeCache.txt",
        kScript},
    TriggerClass{
        "cmake-presets",
        "Chooses compilers, launchers and the environment of the build.",
        "cmake.org/cmake/help/latest/manual/cmake-presets.7.html; gcc(1), -fplugin, -wrapper, "
        "-B, -specs",
        "**/CMakePresets.json **/CMakeUserPresets.json **/vcpkg-configuration.json",
        kKeys, kJson,
        "*COMPILER* *LAUNCHER* *TOOLCHAIN* *environment.* *toolchainFile *cmakeExecutable "
        "*MAKE_PROGRAM* *PROJECT_INCLUDE* *EMULATOR* *vendor* *registries* *overlay-* "
        "*CMAKE_*FLAGS*=*plugin* *FLAGS*=*-load* *FLAGS*=*-wrapper* *FLAGS*=*-B* "
        "*FLAGS*=*-specs* *RULE_LAUNCH* *CMAKE_AR* *CMAKE_LINKER* *command* *arguments*"},
    TriggerClass{
        "task-runner",
        "Named tasks that people and tools start.",
        "taskfile.dev; goreleaser.com; skaffold.dev; dvc.org; melos.invertase.dev; devspace.sh; "
        "docs.garden.io; helmfile.readthedocs.io; pyinvoke.org; docs.getdbt.com, hooks; "
        "serverless.com; pulumi.com; kubectl.docs.kubernetes.io; crystal-lang.org, shard.yml; "
        "megalinter.io; docs.trunk.io; github.com/tmuxinator/tmuxinator",
        "**/Taskfile.yml **/Taskfile.yaml **/taskfile.yml **/.goreleaser.yml **/.goreleaser.yaml "
        "**/skaffold.yaml **/dvc.yaml **/mprocs.yaml **/process-compose.yml **/.air.yaml "
        "**/Taskfile.dist.yml **/Taskfile.dist.yaml **/.task.yml **/process-compose.yaml "
        "**/melos.yaml **/devspace.yaml **/garden.yml **/*.garden.yml **/okteto.yml "
        "**/helmfile.yaml **/helmfile.yml **/helmfile.d/*.yaml **/invoke.yaml **/fabric.yml "
        "**/.tmuxinator.yml **/.tmuxp.yaml **/tmuxp.yaml **/.mega-linter.yml "
        "**/.trunk/trunk.yaml **/dbt_project.yml **/shard.yml **/serverless.yml "
        "**/serverless.yaml **/Pulumi.yaml **/kustomization.yaml **/Chart.yaml **/.releaserc.yml "
        "**/.release-it.yml **/.release-it.yaml",
        kKeys, kYaml,
        "*cmds *cmd *.sh *command *commands *hooks* *script *shell *includes* *exec* *run* "
        "*scripts* *postinstall* *on-run-* *PRE_COMMANDS* *POST_COMMANDS* *plugin* *generators* "
        "*transformers* *validators* *repository *repositories* *before* *after* *shell_command* "
        "*pre_window *runtime* *main *dotenv* *deploy* *postrenderer* *pre-hook* *post-hook* "
        "*dispatch* *macro-paths* *resources*=*://*"},
    TriggerClass{
        "task-runner-toml",
        "Named tasks that people and tools start.",
        "github.com/air-verse/air; github.com/sagiegurari/cargo-make; dystroy.org/bacon; "
        "trunkrs.dev; github.com/cross-rs/cross; nexte.st, setup scripts; anchor-lang.com; "
        "getfoundry.sh; treefmt.com; pantsbuild.org; rust-lang.github.io/mdBook",
        "**/.air.toml **/air.toml **/Makefile.toml **/bacon.toml **/.bacon.toml **/Trunk.toml "
        "**/Dioxus.toml **/Cross.toml **/Anchor.toml **/foundry.toml **/treefmt.toml "
        "**/.treefmt.toml **/.config/nextest.toml **/dist-workspace.toml **/release.toml "
        "**/cliff.toml **/pants.toml **/pants.*.toml **/proto.toml **/.prototools **/spin.toml "
        "**/book.toml **/tectonic.toml **/robot.toml **/.bumpversion.toml",
        kKeys, kToml,
        "*cmd* *command* *bin *full_bin *script* *args* *run* *tasks.* *hook* *exec* *pre-build* "
        "*image* *wrapper* *plugin* *backend_packages* *pythonpath* *provider* *test *ffi "
        "*setup* *env.* *env_* *includes *extend* *shell* *program* *formatter.* *preprocessor* "
        "*output.* *jobs.* *build.* *entrypoint* *install* *dockerfile *preprocess* "
        "*postprocess* *sign* *load_script* *init_task* *url* *source*"},
    TriggerClass{
        "task-runner-json",
        "Named tasks that people and tools start.",
        "docs.deno.com; turborepo.com; nx.dev; vercel.com/docs/project-configuration; "
        "docs.aws.amazon.com/cdk, cdk.json; tauri.app; devcenter.heroku.com, app.json; "
        "jetify.com/devbox; angular.dev, builders; rushjs.io; nodemon.io; docs.renovatebot.com; "
        "dub.pm; dprint.dev; developer.hashicorp.com/terraform, JSON syntax",
        "**/deno.json **/deno.jsonc **/turbo.json **/nx.json **/project.json **/vercel.json "
        "**/now.json **/.swcrc **/lerna.json **/cdk.json **/app.json **/railway.json "
        "**/tauri.conf.json **/tauri.*.conf.json **/.release-it.json **/release-it.json "
        "**/.releaserc **/.releaserc.json **/nest-cli.json **/conductor.json **/dagger.json "
        "**/devbox.json **/dub.json **/angular.json **/rush.json **/command-line.json "
        "**/nodemon.json **/renovate.json **/renovate.json5 **/.renovaterc **/*.tf.json "
        "**/dprint.json **/.dprint.json **/import_map.json **/firebase.json **/sqlc.json "
        "**/ionic.config.json **/pm2.json **/ecosystem.json **/process.json **/.phpactor.json "
        "**/phpbench.json **/infection.json **/infection.json5 **/kernel.json",
        kKeys, kJson,
        "tasks.* *command *commands *executor *script *importMap *plugins* *scripts.* app build "
        "*Command* *hooks* *exec* *init_hook *builder *nodeMap *bin *postUpgradeTasks* "
        "*provisioner* *external* *source *plugins *imports.* *preset* "
        "*allowedPostUpgradeCommands *toolName *preBuild* *postBuild* *preGenerate* "
        "*postGenerate* *preRun* *postRun* *events* *execMap* *withDevCommand* *runner* "
        "*sidecar* *externalBin* *extends* *buildCommand *startCommand *devCommand "
        "*installCommand *ignoreCommand *predeploy* *postdeploy* *bootstrap* *argv* *interpreter* "
        "*cmd"},
    TriggerClass{
        "test-runner",
        "Commands and plugins that run with the tests.",
        "docs.pytest.org, Configuration; tox.wiki; coverage.readthedocs.io; mypy.readthedocs.io, "
        "plugins; pylint.readthedocs.io, init-hook; flake8.pycqa.org, local plugins; "
        "docs.ansible.com, ansible.cfg; alembic.sqlalchemy.org; docs.sqlfluff.com; vale.sh; "
        "nim-lang.org, nim.cfg",
        "**/tox.ini **/pytest.ini **/.coveragerc **/.pytest.ini **/.mypy.ini **/mypy.ini "
        "**/.pylintrc **/pylintrc **/.flake8 **/alembic.ini **/ansible.cfg ~/.ansible.cfg "
        "/etc/ansible/ansible.cfg **/.sqlfluff **/.vale.ini **/_vale.ini **/behave.ini "
        "**/.bumpversion.cfg **/nim.cfg **/nose.cfg **/doit.cfg **/scrapy.cfg **/.importlinter",
        kKeys, kIni,
        "*commands* *install_command* *allowlist_externals* *setenv* *addopts*=*-p* *plugins* "
        "*requires* *indexserver* *set_env* *package_env* *addopts[] *addopts*=*plugin* "
        "*addopts*=*confcutdir* *addopts*=*pyargs* *pythonpath* *required_plugins* *init-hook* "
        "*init_hook* *load-plugins* *load_plugins* *local-plugins* flake8:* *extension* "
        "*python_executable *mypy_path *custom_typeshed_dir *passenv* *pass_env* *basepython* "
        "*script_location *hooks* *entrypoint *executable *library* *module_utils *_plugins* "
        "*roles_path *collections_path* *vault_password_file *private_key_file *transport* "
        "*ssh_* *become_exe* *callback* *strategy* *inventory* *library_path *templater* "
        "*load_macros* *StylesPath *Packages* *pre_commit_hooks* *post_commit_hooks* *steps_dir "
        "*contract_types* *interpreter_python*"},
    TriggerClass{
        "test-runner-toml",
        "Commands and plugins that run with the tests or the linter.",
        "tox.wiki; docs.pytest.org; pylint.readthedocs.io; golangci-lint.run, custom plugins; "
        "rust-analyzer.github.io, rust-analyzer.toml",
        "**/tox.toml **/pytest.toml **/.pytest.toml **/.pylintrc.toml **/pylintrc.toml "
        "**/.golangci.toml **/rust-analyzer.toml **/.rust-analyzer.toml",
        kKeys, kToml,
        "*command* *addopts* *plugins* *pythonpath* *required_plugins* *init-hook* "
        "*load-plugins* *custom* *path *overrideCommand* *server* *runner* *env.* *setenv* "
        "*set_env* *requires* *install_command* *extraEnv* *std* *extend"},
    TriggerClass{
        "lint-yaml",
        "Plugins and commands that linters, test runners, document and code generators load.",
        "eslint.org; mochajs.org; stylelint.io; docs.rubocop.org; golangci-lint.run; dart.dev, "
        "analyzer plugins; haskell-language-server.readthedocs.io, hie.yaml (bios); mkdocs.org, "
        "hooks; docs.sqlc.dev, plugins; buf.build/docs; phpstan.org, bootstrapFiles; "
        "codeception.com; clangd.llvm.org/config; docs.haskellstack.org; jekyllrb.com",
        "**/.eslintrc.yml **/.eslintrc.yaml **/.mocharc.yml **/.mocharc.yaml **/.stylelintrc.yml "
        "**/.stylelintrc.yaml **/.commitlintrc.yml **/.commitlintrc.yaml **/.nycrc.yml "
        "**/.nycrc.yaml **/.rubocop*.yml **/.standard.yml "
        "**/.haml-lint.yml **/.slim-lint.yml **/.erb_lint.yml **/.erb-lint.yml **/.remarkrc.yml "
        "**/.remarkrc.yaml **/.electron-builder.yml **/electron-builder.yml **/.ddev/*.yaml "
        "**/.solargraph.yml **/.golangci.yml **/.golangci.yaml "
        "**/.custom-gcl.yml **/analysis_options.yaml **/build.yaml **/hie.yaml **/mkdocs.yml "
        "**/mkdocs.yaml **/sqlc.yaml **/sqlc.yml **/buf.gen.yaml **/buf.gen.yml **/phpstan.neon "
        "**/phpstan.neon.dist **/phpstan.dist.neon **/codeception.yml **/cucumber.yml "
        "**/cucumber.yaml **/.textlintrc.yml **/.markdownlint-cli2.yaml **/.graphqlrc.yml "
        "**/.graphqlrc.yaml **/graphql.config.yml **/codegen.yml **/codegen.yaml "
        "**/.ansible-lint **/.ansible-lint.yml **/cspell.config.yaml **/cspell.yaml "
        "**/.cspell.yaml **/_config.yml **/antora-playbook.yml **/stack.yaml **/package.yaml "
        "**/.clangd **/.redocly.yaml **/redocly.yaml **/.spectral.yml **/.spectral.yaml "
        "**/.prettierrc.yml **/.prettierrc.yaml",
        kKeys, kYaml,
        "*plugin* *require* *extends* *inherit* *hooks* *command* *cmd *exec* *program* *script* "
        "*custom* *loader* *bootstrap* *includes *include[] *shell *local *generators* *parser* "
        "*processor* *functions* *builders* *import* *formatter* *filters* *extensions* *preset* "
        "*setup* *with-gcc *extra-deps* *ghc-options* *nix* *setup-info* *custom-setup* "
        "*verbatim* *Compiler *Add *bios* *gems* *rulesdir* *transform* *postprocess* *auto_* "
        "*builders.* *jsExtension* *afterPack *beforeBuild *afterSign *beforePack *extend_config*"},
    TriggerClass{
        "lint-json",
        "Plugins and code that linters, formatters, test runners and compilers load.",
        "eslint.org; babeljs.io; jestjs.io, globalSetup and setupFiles; prettier.io, plugins; "
        "stylelint.io; typescriptlang.org/tsconfig, plugins; oxc.rs; biomejs.dev; parceljs.org; "
        "cspell.org; luals.github.io, runtime.plugin; stryker-mutator.io",
        "**/.eslintrc **/.eslintrc.json **/.oxlintrc.json **/biome.json **/biome.jsonc "
        "**/.mocharc.json **/.mocharc.jsonc **/.babelrc **/.babelrc.json **/babel.config.json "
        "**/jest.config.json **/.nycrc **/.nycrc.json **/.c8rc.json **/.prettierrc "
        "**/.prettierrc.json **/.prettierrc.json5 **/.stylelintrc **/.stylelintrc.json "
        "**/.commitlintrc **/.commitlintrc.json **/.postcssrc **/.postcssrc.json **/.parcelrc "
        "**/tsconfig.json **/tsconfig.*.json **/jsconfig.json **/.remarkrc **/.remarkrc.json "
        "**/.textlintrc **/.textlintrc.json **/.markdownlint-cli2.jsonc **/.cspell.json "
        "**/cspell.json **/cspell.config.json **/.testcaferc.json **/.detoxrc **/.detoxrc.json "
        "**/.taprc **/tslint.json "
        "**/.htmlhintrc **/.pug-lintrc **/.solhint.json **/.tern-project **/codeceptjs.json "
        "**/tsup.config.json **/.changeset/config.json **/typedoc.json **/.graphqlrc "
        "**/.graphqlrc.json **/stryker.conf.json "
        "**/stryker.config.json **/.luarc.json **/.luarc.jsonc **/api-extractor.json "
        "**/.secretlintrc.json **/nightwatch.json **/cypress.json **/testem.json "
        "**/.spectral.json **/.czrc **/.versionrc **/.versionrc.json **/.lintstagedrc.jsonc "
        "!**/node_modules/**",
        kKeys, kJson,
        "*plugin* *require* *loader* *parser *processor *extends* *preset* *setup* *teardown* "
        "*transform* *runner *runtime.plugin *resolver *environment *testEnvironment *reporter* "
        "*exec* *command* *script* *hook* *globalSetup *globalTeardown *setupFiles* "
        "*snapshotSerializers* *rulesdir* *rules*=*/* *customRules* *updaters* *bumpFiles* "
        "*buildCommand *testRunner* *jsPlugins* *dictionaryDefinitions* *transformers* "
        "*optimizers* *packagers* *resolvers* *watchPlugins* *coverageReporters* *userScripts* "
        "*clientScripts* *additionalRules* *rulesDirectory* *bootstrap* *onSuccess *changelog* "
        "*supportFile *pluginsFile *imports* *modulePath*"},
    TriggerClass{
        "lint-xml",
        "Code that a test runner or an analyser loads before its work.",
        "docs.phpunit.de, bootstrap; psalm.dev, plugins; "
        "github.com/PHPCSStandards/PHP_CodeSniffer; testng.org; checkstyle.org; "
        "ant.apache.org/ivy",
        "**/phpunit.xml **/phpunit.xml.dist **/phpunit.dist.xml **/psalm.xml **/psalm.xml.dist "
        "**/phpcs.xml **/phpcs.xml.dist **/.phpcs.xml **/testng.xml **/checkstyle.xml **/pmd.xml "
        "**/ivysettings.xml **/.mvn/settings.xml",
        kKeys, kXml,
        "*@=*bootstrap* *@=*class* *plugin* *extension* *php.* *autoload* *rule@=*/* *ini@ "
        "*listener* *resolvers* *url* *script* *env@ *@=*ref=*/*"},
    TriggerClass{
        "bazel",
        "Rules that run commands or fetch code on the next build.",
        "bazel.build/reference; buck2.build; gn.googlesource.com, language; pantsbuild.org",
        "**/BUILD **/BUILD.bazel **/WORKSPACE **/WORKSPACE.bazel **/MODULE.bazel **/*.bzl "
        "**/BUCK **/TARGETS **/*.BUILD **/BUILD.pants **/BUILD.gn **/*.gni **/.gn **/DEPS",
        kToolCode},
    TriggerClass{
        "bazel-settings",
        "Options that steer every build.",
        "bazel.build/run/bazelrc; github.com/bazelbuild/bazelisk; buck2.build",
        "**/.bazelrc **/.buckconfig **/.bazelversion **/.bazelrc.* **/.bazeliskrc "
        "**/user.bazelrc **/.buckconfig.local /etc/bazel.bazelrc **/.pants.rc",
        kScript},
    TriggerClass{
        "gradle",
        "Code that gradle runs on every build.",
        "docs.gradle.org, Initialization scripts and buildSrc; scala-sbt.org; mill-build.org",
        "**/*.gradle **/*.gradle.kts **/init.d/*.gradle **/buildSrc/** ~/.gradle/*.gradle "
        "~/.gradle/*.kts ~/.gradle/init.d/** **/*.sbt **/project/*.scala **/build.sc "
        "**/build.mill ~/.sbt/**/*.sbt ~/.sbt/**/*.scala",
        kToolCode},
    TriggerClass{
        "build-wrapper",
        "The program that builds the project, as the project brings it.",
        "docs.gradle.org, Wrapper; maven.apache.org/wrapper and /configure.html; bazel.build, "
        "tools/bazel; build-server-protocol.github.io, .bsp (argv); scala-sbt.org, .sbtopts",
        "**/gradlew **/gradlew.bat **/config.status **/libtool **/mvnw **/mvnw.cmd "
        "**/.mvn/jvm.config **/.mvn/maven.config **/.mvn/extensions.xml **/gradle-wrapper.jar "
        "**/maven-wrapper.jar **/MavenWrapperDownloader.java **/tools/bazel **/.mvn/wrapper/** "
        "**/gradle/wrapper/*.jar **/.jvmopts **/.sbtopts **/.mill-jvm-opts **/.mill-opts "
        "**/.bsp/*.json **/.bloop/*.json **/project/build.properties",
        kAny},
    TriggerClass{
        "gradle-properties",
        "Steers the JVM that builds.",
        "docs.gradle.org, Build environment",
        "**/gradle.properties **/local.properties **/gradle/gradle-daemon-jvm.properties",
        kKeys, kIni,
        "*jvmargs*=*agent* *jvmargs*=*classpath* *jvmargs*=*-XX:On* *jvmargs*=*@* "
        "*jvmargs*=*-XX:Flags* *installations.* *java.home* *proxy* *repository* "
        "*compiler*=*plugin* *toolchain* *systemProp.* *sdk.dir *ndk.dir *cmake.dir"},
    TriggerClass{
        "maven",
        "Plugins that maven runs, and where it takes code from.",
        "maven.apache.org/pom.html; maven.apache.org/settings.html; "
        "maven.apache.org/guides/mini/guide-using-toolchains.html",
        "**/pom.xml ~/.m2/*.xml **/toolchains.xml",
        kKeys, kXml,
        "*executable *argument *arguments *command* *commandline* *plugin.artifactId "
        "*plugin.groupId *configuration.target* *exec *script* *repository.url "
        "*pluginRepository.url *mirror.url *systemPath *extension.artifactId *goal *compilerArg* "
        "*annotationProcessor* *java.home* *jdkHome *argLine* *relativePath "
        "*module=*.* *jvmArg* *jvmArguments* *agent*"},
    TriggerClass{
        "container-build",
        "Runs when the image is built or started.",
        "docs.docker.com/reference/dockerfile; docs.earthly.dev; apptainer.org",
        "**/Dockerfile **/Dockerfile.* **/*.dockerfile **/Containerfile **/Earthfile "
        "**/Containerfile.* **/*.containerfile **/Dockerfile-* **/Singularity",
        kDocker},
    TriggerClass{
        "container-compose",
        "Starts containers, with folders and rights of the machine.",
        "docs.docker.com/reference/compose-file",
        "**/docker-compose*.yml **/docker-compose*.yaml **/compose.yml **/compose.yaml "
        "**/compose.*.yml **/compose.*.yaml",
        kKeys, kYaml,
        "*command *entrypoint @*image *privileged *volumes *network_mode *pid *ipc *devices "
        "*cap_add *security_opt *userns_mode *extends *include *dockerfile *dockerfile_inline "
        "*additional_contexts *post_start *pre_stop *healthcheck.test *build=*:* *build.context "
        "*provider *runtime *cgroup* *volumes_from *uts *sysctls *group_add *use_api_socket "
        "*driver_opts* *env_file *extra_hosts *gpus *credential_spec *develop* *secrets.*.file "
        "*configs.*.file ^*cap_drop ^*read_only ^*user"},
    TriggerClass{
        "infrastructure",
        "What the next apply does to machines, commands on this one among it.",
        "developer.hashicorp.com/terraform, local-exec, external and CLI configuration; "
        "terragrunt.gruntwork.io, hooks and run_cmd; developer.hashicorp.com/packer; "
        "docs.docker.com/build/bake",
        "**/*.tf **/*.tofu **/*.pkr.hcl **/*.hcl !**/.terraform.lock.hcl **/*.nomad "
        "**/.terraformrc **/terraform.rc ~/.tofurc",
        kLiteralCode},
    TriggerClass{
        "configure",
        "A script that is started before each build.",
        "gnu.org/software/autoconf/manual",
        "**/configure **/configure.sh **/autogen.sh **/bootstrap.sh **/config.guess **/config.sub",
        kScript},
    TriggerClass{
        "tool-code",
        "Code that a tool loads and runs whenever it is used.",
        "the documentation of each: pytest, nox, invoke, doit, SCons, waf, Meson, webpack, Vite, "
        "Jest, Babel, ESLint and every other reader of *.config.js, Sphinx (conf.py), gunicorn, "
        "lit, Conan, RSpec, Rake, Mage, Cabal, dune, opam, Leiningen, clojure-lsp, Nimble, "
        "LuaRocks, Mix, Dist::Zilla, Guix, Nix, Xcode, PHP CS Fixer, Rector, qmake, Qbs, GYP, "
        "Boost.Build, ninja, autoconf, Vagrant, Tilt",
        "**/conftest.py **/noxfile.py **/tasks.py **/fabfile.py **/dodo.py **/SConstruct "
        "**/SConscript **/wscript **/meson.build **/gulpfile.* **/Gruntfile.* **/jest.setup.* "
        "**/karma.conf.* **/esbuild.* **/*.gemspec **/*.podspec **/Rakefile **/*.rake "
        "**/configure.ac **/*.m4 **/Vagrantfile **/Tiltfile **/mix.exs **/rebar.config "
        "**/build.sbt **/build.zig **/build.xml **/Build.PL **/Makefile.PL **/hatch_build.py "
        "**/_build.py **/Snakefile **/xmake.lua **/premake5.lua **/*.config.js **/*.config.cjs "
        "**/*.config.mjs **/*.config.ts **/*.config.mts **/*.config.cts **/*.conf.js "
        "**/*.conf.ts **/*rc.js **/*rc.cjs **/*rc.mjs **/*rc.ts **/.eleventy.* **/gatsby-*.* "
        "**/ember-cli-build.js **/config-overrides.js **/craco.* **/.storybook/** "
        "**/.sequelizerc **/knexfile.* **/plopfile.* **/ormconfig.* **/truffle-config.* "
        "**/wdio.* **/vitest.workspace.* **/vitest.setup.* **/setupTests.* **/cypress/support/** "
        "**/cypress/plugins/** **/cucumber.js **/conf.py **/gunicorn.conf.py **/locustfile.py "
        "**/lit.cfg **/lit.cfg.py **/lit.local.cfg **/lit.site.cfg* **/pavement.py "
        "**/celeryconfig.py **/conanfile.py **/alembic/env.py **/jupyter_*config.py "
        "**/ipython_config.py **/spec_helper.rb **/rails_helper.rb **/test_helper.rb "
        "**/.simplecov **/config.ru **/magefile.go **/magefiles/** **/Setup.hs **/Setup.lhs "
        "**/dune **/dune-project **/dune-workspace **/*.opam **/project.clj **/deps.edn "
        "**/bb.edn **/shadow-cljs.edn **/build.clj **/.lsp/config.edn **/.clj-kondo/** "
        "**/config.nims **/*.nims **/*.nimble **/*.rockspec **/dub.sdl **/rebar.config.script "
        "**/.formatter.exs **/.credo.exs **/dist.ini **/cpanfile **/guix.scm **/manifest.scm "
        "**/channels.scm **/Eask **/Eldev **/Cask **/*.asd **/*.nix **/*.xcconfig **/*.xcscheme "
        "**/project.pbxproj **/rector.php **/.php-cs-fixer.php **/.php-cs-fixer.dist.php "
        "**/RoboFile.php **/deploy.php **/.phan/config.php **/ecs.php **/deps/build.jl "
        "**/make.jl **/renv/activate.R **/_targets.R **/*.qbs **/*.pro **/*.pri **/*.gyp "
        "**/*.gypi **/Jamfile **/Jamroot **/Jamroot.jam **/build.jam **/premake4.lua **/*.ninja "
        "**/build.lua **/.luacov **/*.cabal **/cabal.project **/cabal.project.local "
        "!**/node_modules/**",
        kToolCode},
    TriggerClass{
        "project-startup",
        "A program that starts in this folder runs it, or loads what it names.",
        "docs.python.org/3/library/pdb.html; irb and pry manuals; ghci, .ghci; ocaml(1); iex; R, "
        "Startup; octave, Startup files; latexmk(1); luacheck.readthedocs.io; rspec.info; "
        "prove(1); valgrind(1); gdb, Auto-loading; lldb(1), .lldbinit; "
        "github.com/ycm-core/YouCompleteMe; lazy.folke.io; vim, exrc; emacs, Directory "
        "variables; SQL*Plus, login.sql; httpd.apache.org, .htaccess; github.com/cortesi/modd; "
        "docs.replit.com; ctags-option(5)",
        "**/.pdbrc **/.pdbrc.toml **/.pythonrc **/.pythonrc.py **/.pythonstartup.py **/.irbrc "
        "**/.pryrc **/.ghci **/.ocamlinit **/.iex.exs **/.erlang **/.Rprofile **/.Renviron "
        "**/.octaverc **/.latexmkrc **/latexmkrc **/.luacheckrc **/.busted **/.rspec "
        "**/.rspec-local **/.yardopts **/.proverc **/.valgrindrc **/.radare2rc **/*-gdb.py "
        "**/*-gdb.gdb **/*-gdb.scm **/.gdbinit **/.gdbearlyinit **/.lldbinit **/.lldbinit-* "
        "**/.ycm_extra_conf.py **/.lazy.lua **/.exrc **/.nvimrc **/.nvim.lua **/.vimrc "
        "**/.lvimrc **/.local.vimrc **/.dir-locals.el **/.dir-locals-2.el **/login.sql "
        "**/.htaccess **/modd.conf **/reflex.conf **/.replit **/replit.nix **/Procfile.* "
        "**/.sbclrc **/.guile **/.swiplrc **/startup.m **/.gnuplot **/.maximarc **/.juliarc.jl "
        "**/matplotlibrc **/Session.vim **/.vim/** **/compile_flags.txt **/.ccls **/.gitlint "
        "**/.p4config **/_darcs/prefs/** **/.fossil-settings/** **/.scalafix.conf **/.perldb "
        "**/.mspec **/.ctags.d/** **/.ctags",
        kScript},
    TriggerClass{
        "compiled-code",
        "Code without a text to look at: it runs in place of its source, or when something loads "
        "it.",
        "docs.python.org/3/reference/import.html, Cached bytecode invalidation; ld.so(8); "
        "nodejs.org/api/addons.html; docs.oracle.com, java(1), class path; zshbuiltins(1), "
        "zcompile; emacs, Byte compilation",
        "**/*.o **/*.a **/*.lo **/*.obj **/*.pyc **/*.pyo **/*.pyd **/*.so **/*.so.* **/*.dylib "
        "**/*.dll **/*.node **/*.class **/*.jar **/*.war **/*.phar **/.yarn/cache/*.zip "
        "**/bun.lockb **/*.whl **/*.egg **/*.gem **/*.nupkg **/*.vsix **/*.elc **/*.luac "
        "**/*.beam **/*.rlib **/*.ko **/*.zwc **/*.fasl !**/build/** !**/target/** !**/dist/** "
        "!**/out/** !**/obj/** !**/_build/** !**/cmake-build-*/** !**/bazel-*/** !**/.gradle/** "
        "!**/zig-out/**",
        kAny},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> BuildTriggers() { return kTable; }

}  // namespace cloche::rules
