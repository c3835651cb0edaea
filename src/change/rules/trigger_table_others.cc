#include "change/rules/trigger_tables.h"

namespace cloche::rules {
namespace {

using enum Judge;
using enum Format;

// Files of single tools. All they have in common is that a tool runs what they name.
// clang-format off
constexpr TriggerClass kTable[] = {
    TriggerClass{
        "other-tools",
        "A tool runs it, or what it names, when it is used in this folder.",
        "the documentation of each: hg share, Gerrit depot_tools, Review Board, lintr, Writing R "
        "Extensions (Makevars), rpm-spec(5), Lake, Merlin, Leiningen, Clojure (user.clj), ghcid, "
        "Kaocha, tup(1), redo, mk(1), mask, mocha.opts, Xcode Cloud (ci_scripts), rbenv-vars, "
        "rvm, knife, Elastic Beanstalk (.platform/hooks), Amplify hooks, s2i, Heroku "
        "(.profile.d), uscan(1), flyway, gtags.conf(5), ShellSpec, Erlang vm.args, Mix releases, "
        "ocamlbuild, FAKE, Unreal Build Tool, BitBake, Stata, SAS, Idris, qmake, autotools, "
        "cookiecutter, Please, Buck, mvnd, JetBrains plug-ins",
        "**/.hg/sharedpath **/.gclient **/.reviewboardrc "
        "**/.lintr **/Makevars **/Makevars.* **/lakefile.lean "
        "**/.merlin **/profiles.clj **/user.clj **/.ghcid **/tests.edn **/Tupfile **/Tuprules.tup "
        "**/*.do **/mkfile **/maskfile.md **/mocha.opts **/.xcode.env **/.xcode.env.* "
        "**/ci_scripts/** **/.rbenv-vars **/.rvmrc **/.chef/** **/.platform/hooks/** "
        "**/.platform/confighooks/** **/amplify/hooks/** **/.s2i/** **/.profile.d/** "
        "**/debian/watch **/flyway.conf **/flyway.toml **/gtags.conf **/.globalrc **/.shellspec "
        "**/setup_suite.bash **/vm.args **/vm.args.* **/rel/*.eex **/_tags "
        "**/myocamlbuild.ml **/build.fsx **/*.Build.cs **/*.Target.cs **/*.bb **/*.bbappend "
        "**/*.bbclass **/conf/local.conf **/conf/bblayers.conf **/autoexec.sas **/*.ipkg "
        "**/.qmake.conf **/*.prf **/ltmain.sh **/install-sh **/missing **/depcomp **/compile "
        "**/hooks/pre_gen_project.* **/hooks/post_gen_project.* **/hooks/pre_prompt.* "
        "**/.plzconfig **/.plzconfig.* **/.buckjavaargs **/.mvn/*.properties "
        "**/.idea/checkstyle-idea.xml **/.idea/ruff.xml **/.idea/golinter.xml "
        "**/.scala-steward.conf **/.pnpmfile.mjs **/MLproject **/.gtrconfig **/Kustomization "
        "**/*.spec **/.php_cs **/.php_cs.dist",
        kScript},
    TriggerClass{
        "other-tools-code",
        "Code that a tool loads and runs whenever it is used.",
        "the documentation of each: depot_tools (PRESUBMIT.py), Kconfig, Prisma, rope, duty, "
        "Cake, Jake, webpack, Laravel Mix, GraphQL Code Generator, Serverless, VitePress, "
        "markdownlint-cli2, eslint-plugin-local-rules, vscode-test, PHPUnit, Castor, fastlane, "
        "Jekyll, Capistrano, Puma, Homebrew, behave, Ansible plug-ins, Nextflow, Bazel, Unity, "
        "Mage, Zig, nox (script metadata)",
        "**/Kconfig **/Kconfig.* **/schema.prisma **/PRESUBMIT.py **/.ropeproject/*.py "
        "**/duties.py **/Cakefile **/Jakefile **/Jakefile.* **/webpack.*.js **/webpack.*.ts "
        "**/codegen.ts **/serverless.ts **/.vitepress/config.* **/.vitepress/theme/index.* "
        "**/.markdownlint-cli2.* **/eslint-local-rules.* **/.vscode-test.* **/tests/bootstrap.php "
        "**/test/bootstrap.php **/castor.php **/fastlane/actions/** **/_plugins/**/*.rb "
        "**/config/deploy.rb **/config/deploy/*.rb **/config/puma.rb **/config/boot.rb "
        "**/config/application.rb **/Formula/*.rb **/features/environment.py "
        "**/features/support/** **/callback_plugins/** **/action_plugins/** **/filter_plugins/** "
        "**/lookup_plugins/** **/inventory_plugins/** **/nextflow.config **/WORKSPACE.bzlmod "
        "**/BUILD.plz **/Assets/Editor/**/*.cs **/build.zig.zon **/.projectile "
        "!**/node_modules/**",
        kToolCode},
    TriggerClass{
        "other-tools-yaml",
        "Names commands, plug-ins and sources that a tool uses in this folder.",
        "the documentation of each: west, Quarto, moon, tusk, Spago, WP-CLI, Behat, phpspec, "
        "Phpactor, XcodeGen, Test Kitchen, Rails, conda, conda-build, Dart pub, Bamboo, "
        "Screwdriver, Prow, Vela, GoCD, CodeBuild, Heroku, App Platform, CodeDeploy, Elastic "
        "Beanstalk, podman-compose, Dapr, Snapcraft, nFPM, Molecule, Warp, wtp, Copier, smug, "
        "Dependabot",
        "**/west.yml **/west-commands.yml **/_quarto.yml **/_quarto-*.yml **/moon.yml "
        "**/.moon/*.yml **/tusk.yml **/spago.yaml **/wp-cli.yml **/wp-cli.local.yml **/behat.yml "
        "**/behat.yaml **/behat.yml.dist **/phpspec.yml **/.phpactor.yml **/project.yml "
        "**/.kitchen*.yml **/kitchen.yml **/database.yml **/environment.yml **/environment.yaml "
        "**/meta.yaml **/recipe.yaml **/pubspec.yaml **/pubspec_overrides.yaml "
        "**/bamboo-specs/*.yml **/bamboo-specs/*.yaml **/screwdriver.yaml **/.prow.yaml "
        "**/.prow/*.yaml **/.vela.yml **/.vela.yaml **/*.gocd.yaml **/*.gocd.yml "
        "**/buildspec*.yml **/buildspec*.yaml **/heroku.yml **/.do/*.yaml **/appspec.yml "
        "**/appspec.yaml **/.ebextensions/** **/podman-compose.yml **/podman-compose.yaml "
        "**/dapr.yaml **/snapcraft.yaml **/.snapcraft.yaml **/nfpm.yaml **/nfpm.yml "
        "**/molecule.yml **/.warp/workflows/* **/.wtp.yml **/copier.yml **/copier.yaml "
        "**/.smug.yml **/smug.yml **/latexindent.yaml **/.latexindent.yaml **/dependabot.yml",
        kKeys, kYaml,
        "*command* *cmd* *script* *run *run.* *run_* *exec* *hook* *plugin* *extensions* "
        "*bootstrap* *require *require[] *require.* *pre-render* *post-render* *filters* *tasks* "
        "*steps* *jobs* *git* *url* *path *image* *container* *before_* *after_* *override-* "
        "*build.* *prime* *west-commands* *import* *location* *files.* *provisioner* *driver* "
        "*verifier* *playbook* *_tasks* *_migrations* *_jinja_extensions* *pip[]*=*/* "
        "*pip[]*=*:* *channels* *services* *release* *setup.* *pipelines* *registries* "
        "*insecure-external* *=./* *=../* *=/* *=~/*"},
    TriggerClass{
        "other-tools-json",
        "Names commands, plug-ins and sources that a tool uses in this folder.",
        "the documentation of each: Arcanist, rust-analyzer "
        "(rust-project.json), Jedi, Pyre, Jasmine, ReScript, projectionist, esy, Unreal Engine, "
        "CDKTF, Bake, Continue, Cody, cruft, tmuxp, Bazel (MODULE.bazel.lock), CommandBox",
        "**/.arcconfig **/.arclint **/.arcunit **/rust-project.json "
        "**/.jedi/*.json **/.pyre_configuration **/.pyre_configuration.local **/jasmine.json "
        "**/rescript.json **/bsconfig.json **/.projections.json **/esy.json **/*.uproject "
        "**/*.uplugin **/cdktf.json **/docker-bake.json **/.continuerc.json **/.vscode/cody.json "
        "**/.cody/*.json **/.cruft.json **/.tmuxp.json **/MODULE.bazel.lock **/box.json "
        "**/.claude/plugins/**/*.json !**/node_modules/**",
        kKeys, kJson,
        "*command* *cmd* *script* *load* *binary* *path *_path *paths* *requires* *helpers* "
        "*ppx* *post-build* *pp-flags* *make *dispatch* *console *start *build* *app *install* "
        "*steps* *template* *before_* *shell* *url* *hooks* *mcp* *typeshed* *linters* *engine* "
        "*target* *plugin* *arguments* *proc_macro*"},
    TriggerClass{
        "other-tools-toml",
        "Names commands, plug-ins and sources that a tool uses in this folder.",
        "the documentation of each: Poe the Poet, Prettier, Gradle (version catalogs), worktrunk",
        "**/poe_tasks.toml **/.prettierrc.toml **/libs.versions.toml **/.config/wt.toml",
        kKeys, kToml,
        "*tasks* *plugin* *.id *group *hook* *pre-* *post-* *command* *run* *script* *env* "
        "*shell*"},
    TriggerClass{
        "other-tools-ini",
        "Names commands, plug-ins and sources that a tool uses in this folder.",
        "the documentation of each: Doxygen, git-review, PlatformIO, zc.buildout, uWSGI, "
        "supervisord, DVC, Meson (wrap files), sqitch, Godot",
        "**/Doxyfile **/Doxyfile.* **/.gitreview **/platformio.ini **/buildout.cfg **/uwsgi.ini "
        "**/supervisord.conf **/.dvc/config **/.dvc/config.local **/subprojects/*.wrap "
        "**/sqitch.conf **/project.godot",
        kKeys, kIni,
        "*host *scheme *project *extra_scripts *platform* *lib_deps *build_flags *upload* "
        "*command* *extensions* *recipe* *develop* *find-links* *index* *exec* *hook* *plugin* "
        "*import* *module* *url* *remote* *core.* *hash* *directory* *patch* *source* *client* "
        "*target* *top_dir* *engine* *enabled* *autoload* *attach-daemon* *python-path "
        "*pythonpath* *run* *FILTER* *DOT_PATH *PERL_PATH *MSCGEN* *DIA_PATH *PLANTUML* "
        "*LATEX_CMD* *MAKEINDEX* *HHC* *QHG* *@INCLUDE* *wsgi-file *script*"},
};
// clang-format on

}  // namespace

std::span<const TriggerClass> OtherTriggers() { return kTable; }

}  // namespace cloche::rules
