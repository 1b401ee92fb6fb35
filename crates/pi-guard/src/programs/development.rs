//! Programs for developers: languages, build tools, packages, containers and clouds.

use super::arguments::{ANY, BARE, LITERAL};
use super::{Approval, Harm, Program, Runs, Trait, Writes, harm, program, reader, runner};

const PUBLISHES: Harm = harm(
    ANY.with(&["publish upload yank unpublish"]).without("--dry-run"),
    "it publishes a package",
);
const DELETES_REMOTE: &str = "it deletes remote resources";
const CHANGES_REMOTE: &str = "it changes remote resources";
const DELETES_CONTAINERS: &str = "it deletes containers, images or volumes";
/// Words that run scripts of a project or of packages.
const NPM_SCRIPTS: &str = "run exec x dlx test start run-script t i install ci add rebuild update \
    link pack --script-shell --ignore-scripts=false";

pub(super) const PROGRAMS: &[Program] = &[
    // Languages.
    Program { version: "-V", ..runner("python python2 python3", Runs::Code) },
    Program { version: "-v", ..runner("node ruby", Runs::Code) },
    Program { version: "-version", ..runner("java", Runs::Code) },
    Program { approval: Approval::Subcommand, ..runner("swift", Runs::Code) },
    runner(
        "R Rscript bun clisp cmd crystal cscript deno elixir erl esbuild escript expect gdb ghci \
         groovy gs guile iex ipython irb jimsh jruby jshell julia kotlin latex lldb lua luajit \
         lualatex m4 maxima mshta nim nodejs ocaml octave osascript pdflatex perl perl6 php pry \
         powershell pwsh pypy pythonw qjs racket raku rundll32 runghc runhaskell sbcl scala scheme \
         tcl tclsh tex ts-node tsx wish wscript xelatex",
        Runs::Code,
    ),
    // Compilers and tools for their output.
    Program {
        writes: Writes::Options("-o*"),
        runs_with: "-wrapper* -fplugin* -B* -specs*",
        traits: &[Trait::NamedByVariables],
        ..program("c++ cc g++ gcc")
    },
    Program {
        writes: Writes::Options("-o*"),
        runs_with: "-fplugin* -B* -load* -Xclang*",
        traits: &[Trait::NamedByVariables],
        ..program("clang clang++")
    },
    Program {
        runs_with: "--plugin -plugin*",
        traits: &[Trait::NamedByVariables],
        ..program("ar ld")
    },
    Program { runs_with: "--plugin", ..program("ranlib") },
    Program {
        reads: &[ANY.without("--plugin")],
        runs_with: "--plugin",
        ..program("nm objdump size")
    },
    Program {
        writes: Writes::Nothing,
        runs_with: "-Clinker* --codegen -Zcodegen-backend*",
        version: "-V -vV",
        ..program("rustc")
    },
    // Checkers, formatters and test runners.
    Program {
        reads: &[ANY.without("-w -cpuprofile*")],
        writes: Writes::Nothing,
        approval: Approval::Program,
        ..program("gofmt")
    },
    Program { reads: &[LITERAL], approval: Approval::Program, ..program("shellcheck") },
    Program {
        writes: Writes::Nothing,
        harmless_variables: "PYTHONPATH",
        approval: Approval::Program,
        ..program("mypy pytest")
    },
    Program {
        writes: Writes::Nothing,
        approval: Approval::Program,
        ..program("eslint prettier ruff rustfmt tsc")
    },
    Program {
        approval: Approval::Program,
        ..program("black clang-format flake8 isort jest mocha vitest")
    },
    // Packages and projects.
    Program {
        writes: Writes::Nothing,
        runs_with: "--config -Z",
        harms: &[PUBLISHES],
        synonyms: &["build b", "run r", "test t", "check c", "doc d", "remove rm"],
        version: "-V",
        directory_options: "-C",
        traits: &[Trait::Toolchain],
        approval: Approval::Subcommand,
        ..program("cargo")
    },
    Program {
        runs_with: "run",
        version: "-V",
        traits: &[Trait::MultiCall],
        approval: Approval::Subcommand,
        ..program("rustup")
    },
    Program { traits: &[Trait::MultiCall], ..runner("rustup-init", Runs::Unknown) },
    Program {
        subcommands: &[LISTS_PACKAGES],
        writes: Writes::Nothing,
        runs_with: NPM_SCRIPTS,
        harms: &[PUBLISHES],
        synonyms: &[
            "-g --global --location",
            "-f --force",
            "install i add",
            "uninstall un rm r remove unlink",
            "run run-script rum urn",
            "test t tst",
            "exec x",
            "ci clean-install ic",
        ],
        version: "-v",
        directory_options: "--prefix -C",
        traits: &[Trait::Abbreviates, Trait::RunsScripts],
        approval: Approval::Subcommand,
        ..program("npm")
    },
    Program {
        subcommands: &[LISTS_PACKAGES, PACKAGE_COMMANDS],
        reads: &[BARE],
        writes: Writes::Nothing,
        runs_with: NPM_SCRIPTS,
        harms: &[PUBLISHES],
        synonyms: &[
            "-g --global --location",
            "-f --force",
            "install i add",
            "uninstall un rm r remove unlink",
        ],
        version: "-v",
        directory_options: "--prefix -C --dir",
        traits: &[Trait::Extensible, Trait::RunsScripts],
        approval: Approval::Subcommand,
        ..program("pnpm")
    },
    Program {
        subcommands: &[PACKAGE_COMMANDS, program("list ls")],
        writes: Writes::Nothing,
        runs_with: NPM_SCRIPTS,
        harms: &[PUBLISHES],
        version: "-v",
        traits: &[Trait::Extensible, Trait::RunsScripts],
        approval: Approval::Subcommand,
        ..program("yarn")
    },
    Program {
        subcommands: &[Program {
            reads: &[ANY.without("--python --log --outdated -o")],
            ..program("list show freeze")
        }],
        writes: Writes::Nothing,
        runs_with: "install wheel download --global-option --config-settings",
        version: "-V",
        approval: Approval::Subcommand,
        ..program("pip pip3")
    },
    Program {
        runs_with: "install",
        harms: &[PUBLISHES, harm(ANY.with(&["push"]), "it publishes a package")],
        approval: Approval::Subcommand,
        ..program("gem")
    },
    Program {
        runs_with: "install update run-script exec",
        approval: Approval::Subcommand,
        ..program("composer")
    },
    Program {
        writes: Writes::Nothing,
        runs_with: "run generate tool -exec* -toolexec* -vettool* -modfile* -overlay*",
        version: "version",
        approval: Approval::Exact,
        ..program("go")
    },
    Program {
        harms: &[PUBLISHES],
        approval: Approval::Subcommand,
        ..runner("poetry uv", Runs::Hidden(&[]))
    },
    Program { harms: &[PUBLISHES], ..runner("hatch lerna", Runs::Hidden(&[])) },
    Program { harms: &[PUBLISHES], ..program("flit twine vsce") },
    Program {
        approval: Approval::Subcommand,
        ..runner("bundle gradle mvn nix rake", Runs::Hidden(&[]))
    },
    Program {
        approval: Approval::Subcommand,
        ..runner("cabal dotnet glab mix stack", Runs::Unknown)
    },
    Program {
        writes: Writes::Nothing,
        approval: Approval::Subcommand,
        ..runner("pi", Runs::Unknown)
    },
    Program { writes: Writes::Nothing, ..runner("node-gyp", Runs::Unknown) },
    Program {
        writes: Writes::Nothing,
        directory_options: "-C --directory",
        ..runner("cmake make ninja", Runs::Hidden(&[]))
    },
    Program { approval: Approval::Program, ..runner("ctest tox", Runs::Hidden(&[])) },
    runner(
        "act ant asdf bazel bmake buck buck2 bunx bzr concurrently conda corepack cross-env cvs \
         dagger darcs debuild direnv distrobox dotenv earthly env-cmd fnm foreman forever fossil \
         git-shell gmake goenv gradlew guix hg honcho husky jenv just lint-staged mamba meson mise \
         mvnw nix-shell nodenv nox npm-run-all npx nvm nx overmind pdm pipenv pipx pm2 pnpx \
         pre-commit pyenv rbenv rtx rush rye samu scons skaffold supervisord svn task tilt toolbox \
         tup turbo uvx vagrant volta waf wireit",
        Runs::Hidden(&[]),
    ),
    // Containers and clouds.
    Program {
        subcommands: &[
            reader("ps images logs inspect version info stats top port diff history search"),
            Program {
                subcommands: &[reader("ps logs ls images version top port")],
                ..program("compose")
            },
        ],
        writes: Writes::Nothing,
        harms: &[
            harm(ANY.with(&["push"]), "it publishes an image"),
            harm(ANY.with(&["prune rm rmi"]), DELETES_CONTAINERS),
            harm(ANY.with(&["down", "-v --volumes"]), DELETES_CONTAINERS),
        ],
        synonyms: &["-v --volume --mount"],
        ..runner("docker podman", Runs::Hidden(&[]))
    },
    Program {
        harms: &[harm(ANY.with(&["down", "-v --volumes"]), DELETES_CONTAINERS)],
        ..runner("docker-compose", Runs::Unknown)
    },
    runner("buildah nerdctl", Runs::Hidden(&[])),
    Program {
        subcommands: &[Program {
            reads: &[ANY.without("--kubeconfig* --server* -s* --exec* --context*")],
            ..program("get describe logs top explain api-resources version")
        }],
        writes: Writes::Nothing,
        harms: &[harm(ANY.with(&["delete uninstall drain"]), DELETES_REMOTE)],
        synonyms: &["-f --filename"],
        ..runner("kubectl", Runs::Hidden(&[]))
    },
    Program {
        harms: &[harm(ANY.with(&["delete uninstall drain"]), DELETES_REMOTE)],
        ..runner("oc", Runs::Hidden(&[]))
    },
    Program {
        harms: &[
            harm(ANY.with(&["delete uninstall drain"]), DELETES_REMOTE),
            harm(ANY.with(&["push"]), "it publishes a package"),
        ],
        ..runner("helm", Runs::Unknown)
    },
    Program {
        harms: &[harm(ANY.with(&["destroy apply up"]), CHANGES_REMOTE)],
        ..runner("pulumi terraform", Runs::Hidden(&[]))
    },
    Program {
        harms: &[harm(ANY.with(&["destroy apply up"]), CHANGES_REMOTE)],
        ..runner("tofu", Runs::Unknown)
    },
    Program {
        harms: &[harm(ANY.with(&["rm rb delete terminate-instances"]), DELETES_REMOTE)],
        ..runner("aws az gcloud gsutil", Runs::Unknown)
    },
    Program {
        writes: Writes::Nothing,
        harms: &[harm(ANY.with(&["delete"]), DELETES_REMOTE)],
        approval: Approval::Subcommand,
        ..program("gh")
    },
    Program {
        harms: &[harm(ANY, "it deletes a database or a user")],
        ..program("dropdb dropuser")
    },
    runner("ansible ansible-playbook", Runs::Hidden(&[])),
];

const LISTS_PACKAGES: Program =
    Program { reads: &[ANY.without("--prefix -C --dir")], ..program("list ls") };
/// Subcommands of package managers for which any other word may be the name of a script.
const PACKAGE_COMMANDS: Program = program(
    "why outdated info audit config licenses view help version versions publish login logout \
     whoami owner tag store cache remove prune npm",
);
