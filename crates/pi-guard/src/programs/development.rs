//! Programs for developers: languages, build tools, packages, containers and clouds.

use super::arguments::{ANY, BARE, LITERAL};
use super::{Approval, HIDDEN, Harm, Program, READS, Runs, Trait, Writes, harm, programs};

const PUBLISHES: Harm =
    harm(ANY.with("publish upload yank unpublish").without("--dry-run"), "it publishes a package");
const DELETES_REMOTE: Harm = harm(
    ANY.with("delete uninstall drain rm rb terminate-instances"),
    "it deletes remote resources",
);
const CHANGES_REMOTE: Harm = harm(ANY.with("destroy apply up"), "it changes remote resources");
const DELETES_CONTAINERS: &str = "it deletes containers, images or volumes";
const DELETES_VOLUMES: Harm = harm(ANY.with("down").and("-v --volumes"), DELETES_CONTAINERS);
/// Words that run scripts of a project or of packages.
const PACKAGE_SCRIPTS: &str = "run exec x dlx test start run-script t i install ci add rebuild \
    update link pack --script-shell --ignore-scripts=false";
/// Subcommands of package managers for which any other word may be the name of a script.
const PACKAGE_COMMANDS: &str = "why outdated info audit config licenses view help version versions \
    publish login logout whoami owner tag store cache remove prune npm";

pub(super) const PROGRAMS: &[Program] = programs! {
    // Languages.
    "python python2 python3" { runs: Runs::Code, version: "-V" }
    "node ruby" { runs: Runs::Code, version: "-v" }
    "java" { runs: Runs::Code, version: "-version" }
    "swift" { runs: Runs::Code, approval: Approval::Subcommand }
    "R Rscript bun clisp cmd crystal cscript deno elixir erl esbuild escript expect gdb ghci \
     groovy gs guile iex ipython irb jimsh jruby jshell julia kotlin latex lldb lua luajit \
     lualatex m4 maxima mshta nim nodejs ocaml octave osascript pdflatex perl perl6 php pry \
     powershell pwsh pypy pythonw qjs racket raku rundll32 runghc runhaskell sbcl scala scheme \
     tcl tclsh tex ts-node tsx wish wscript xelatex" { runs: Runs::Code }

    // Compilers and tools for their output.
    "c++ cc g++ gcc" { runs_with: "-wrapper* -fplugin* -B* -specs*", writes: Writes::Options("-o*"),
        traits: &[Trait::NamedByVariables] }
    "clang clang++" { runs_with: "-fplugin* -B* -load* -Xclang*", writes: Writes::Options("-o*"),
        traits: &[Trait::NamedByVariables] }
    "ar ld" { runs_with: "--plugin -plugin*", traits: &[Trait::NamedByVariables] }
    "ranlib" { runs_with: "--plugin" }
    "nm objdump size" { reads: &[ANY.without("--plugin")], runs_with: "--plugin" }
    "rustc" { runs_with: "-Clinker* --codegen -Zcodegen-backend*", version: "-V -vV",
        writes: Writes::Nothing }

    // Checkers, formatters and test runners.
    "gofmt" { reads: &[ANY.without("-w -cpuprofile*")], writes: Writes::Nothing,
        approval: Approval::Program }
    "shellcheck" { reads: &[LITERAL], approval: Approval::Program }
    "mypy pytest" { harmless_variables: "PYTHONPATH", writes: Writes::Nothing,
        approval: Approval::Program }
    "eslint prettier ruff rustfmt tsc" { writes: Writes::Nothing, approval: Approval::Program }
    "black clang-format flake8 isort jest mocha vitest" { approval: Approval::Program }

    // Packages and projects.
    "cargo" { runs_with: "--config -Z", version: "-V", writes: Writes::Nothing, harms: &[PUBLISHES],
        synonyms: &["build b", "run r", "test t", "check c", "doc d", "remove rm"], approval: Approval::Subcommand }
    "rustup" { runs_with: "run", version: "-V", traits: &[Trait::MultiCall],
        approval: Approval::Subcommand }
    "rustup-init" { runs: Runs::Unknown, traits: &[Trait::MultiCall] }
    "npm" { runs_with: PACKAGE_SCRIPTS, version: "-v", writes: Writes::Nothing, harms: &[PUBLISHES],
        subcommands: programs! { "list ls" { reads: &[ANY.without("--prefix -C --dir")] } },
        synonyms: &["-g --global --location", "-f --force", "install i add", "test t tst", "exec x",
            "uninstall un rm r remove unlink", "run run-script rum urn", "ci clean-install ic"], traits: &[Trait::Abbreviates, Trait::RunsScripts],
        approval: Approval::Subcommand }
    "pnpm" { runs_with: PACKAGE_SCRIPTS, version: "-v", writes: Writes::Nothing,
        reads: &[BARE], harms: &[PUBLISHES],
        subcommands: programs! {
            "list ls" { reads: &[ANY.without("--prefix -C --dir")] }
            PACKAGE_COMMANDS {}
        },
        synonyms: &["-g --global --location", "-f --force", "install i add",
            "uninstall un rm r remove unlink"], traits: &[Trait::Extensible, Trait::RunsScripts],
        approval: Approval::Subcommand }
    "yarn" { runs_with: PACKAGE_SCRIPTS, version: "-v", writes: Writes::Nothing,
        harms: &[PUBLISHES], subcommands: programs! { "list ls" {} PACKAGE_COMMANDS {} },
        traits: &[Trait::Extensible, Trait::RunsScripts], approval: Approval::Subcommand }
    "pip pip3" { runs_with: "install wheel download --global-option --config-settings",
        version: "-V", writes: Writes::Nothing, approval: Approval::Subcommand,
        subcommands: programs! {
            "list show freeze" { reads: &[ANY.without("--python --log --outdated -o")] } } }
    "gem" { runs_with: "install", approval: Approval::Subcommand,
        harms: &[PUBLISHES, harm(ANY.with("push"), "it publishes a package")] }
    "composer" { runs_with: "install update run-script exec", approval: Approval::Subcommand }
    "go" { runs_with: "run generate tool -exec* -toolexec* -vettool* -modfile* -overlay*",
        version: "version", writes: Writes::Nothing }
    "poetry uv" { runs: HIDDEN, harms: &[PUBLISHES], approval: Approval::Subcommand }
    "hatch lerna" { runs: HIDDEN, harms: &[PUBLISHES] }
    "flit twine vsce" { harms: &[PUBLISHES] }
    "bundle gradle mvn nix rake" { runs: HIDDEN, approval: Approval::Subcommand }
    "cabal dotnet glab mix stack" { runs: Runs::Unknown, approval: Approval::Subcommand }
    "pi" { runs: Runs::Unknown, writes: Writes::Nothing, approval: Approval::Subcommand }
    "node-gyp" { runs: Runs::Unknown, writes: Writes::Nothing }
    "cmake make ninja" { runs: HIDDEN, writes: Writes::Nothing }
    "ctest tox" { runs: HIDDEN, approval: Approval::Program }
    "act ansible ansible-playbook ant asdf bazel bmake buck buck2 buildah bunx bzr concurrently \
     conda corepack cross-env cvs dagger darcs debuild direnv distrobox dotenv earthly env-cmd \
     fnm foreman forever fossil git-shell gmake goenv gradlew guix hg honcho husky jenv just \
     lint-staged mamba meson mise mvnw nerdctl nix-shell nodenv nox npm-run-all npx nvm nx \
     overmind pdm pipenv pipx pm2 pnpx pre-commit pyenv rbenv rtx rush rye samu scons skaffold \
     supervisord svn task tilt toolbox tup turbo uvx vagrant volta waf wireit" { runs: HIDDEN }

    // Containers and clouds.
    "docker podman" { runs: HIDDEN, writes: Writes::Nothing, synonyms: &["-v --volume --mount"],
        subcommands: programs! {
            "ps images logs inspect version info stats top port diff history search" {
                reads: READS }
            "compose" { subcommands: programs! {
                "ps logs ls images version top port" { reads: READS } } }
        },
        harms: &[DELETES_VOLUMES, harm(ANY.with("prune rm rmi"), DELETES_CONTAINERS),
            harm(ANY.with("push"), "it publishes an image")] }
    "docker-compose" { runs: Runs::Unknown, harms: &[DELETES_VOLUMES] }
    "kubectl" { runs: HIDDEN, writes: Writes::Nothing, synonyms: &["-f --filename"],
        subcommands: programs! {
            "get describe logs top explain api-resources version" {
                reads: &[ANY.without("--kubeconfig* --server* -s* --exec* --context*")] } },
        harms: &[DELETES_REMOTE] }
    "oc" { runs: HIDDEN, harms: &[DELETES_REMOTE] }
    "helm" { runs: Runs::Unknown,
        harms: &[DELETES_REMOTE, harm(ANY.with("push"), "it publishes a chart")] }
    "pulumi terraform" { runs: HIDDEN, harms: &[CHANGES_REMOTE] }
    "tofu" { runs: Runs::Unknown, harms: &[CHANGES_REMOTE] }
    "aws az gcloud gsutil" { runs: Runs::Unknown, harms: &[DELETES_REMOTE] }
    "gh" { writes: Writes::Nothing, harms: &[DELETES_REMOTE], approval: Approval::Subcommand }
    "dropdb dropuser" { harms: &[harm(ANY, "it deletes a database or a user")] }
};
