//! Programs for developers: languages, build tools, packages, containers and clouds.

use super::arguments::ANY;
use super::{Approval, Harm, Program, Reach, Runs, Trait, UNKNOWN_RUNS, Writes, harm, programs};

const PUBLISHES: Harm = harm(
    Reach::Remote,
    ANY.with("publish upload yank unpublish").without("--dry-run"),
    "it publishes a package",
);
/// Verbs of destruction in the command lines of clouds, platforms and their storage, alone or as the
/// first part of an operation such as `delete-bucket`.
const DELETES_REMOTE: Harm = harm(
    Reach::Remote,
    ANY.with(
        "delete del remove rm rb rmr destroy purge uninstall drain terminate erase wipe apps:destroy \
         delete-* remove-* destroy-* purge-* terminate-* deregister-* batch-delete-* \
         disable-key schedule-key-deletion delete_* *:delete* *:destroy* *:remove*",
    ),
    "it deletes remote resources",
);
/// A request of `gh api` and the like that deletes something.
const DELETES_BY_REQUEST: Harm = harm(
    Reach::Remote,
    ANY.words(&["api"]).with("DELETE -XDELETE delete -Xdelete *=DELETE* *=delete*"),
    "it deletes remote resources",
);
const DELETES_BY_QUERY: Harm = harm(
    Reach::Remote,
    ANY.words(&["api"]).with("graphql").and("*mutation*"),
    "it changes remote resources",
);
/// Options of other actions.
const DELETES_WITH: Harm = harm(
    Reach::Remote,
    ANY.with("--delete-branch --clobber --cleanup-tag --remove-source-branch"),
    "it deletes remote resources",
);
const CHANGES_REMOTE: Harm =
    harm(Reach::Remote, ANY.with("destroy apply up"), "it changes remote resources");
const DELETES_CONTAINERS: &str = "it deletes containers, images or volumes";
const DELETES_VOLUMES: Harm =
    harm(Reach::Outside, ANY.with("down").and("-v --volumes"), DELETES_CONTAINERS);
/// Words that run scripts of a project or of packages.
const PACKAGE_SCRIPTS: &str = "run exec x dlx test start run-script t i install ci add rebuild \
    update link pack --script-shell --ignore-scripts=false --node-options";
/// Subcommands of package managers for which any other word may be the name of a script.
const PACKAGE_COMMANDS: &str = "list ls why outdated info audit config licenses view help version \
    versions publish login logout whoami owner tag store cache remove prune npm";

/// Subcommands of package managers that change the packages of a project, or run its tests.
const NPM_ACTIONS: &str = "add ci i install outdated start t test update";
/// Subcommands of package managers that have actions of their own.
const NPM_GROUPS: &str = "access cache dist-tag hook org owner pkg profile store team token";

pub(super) const PROGRAMS: &[Program] = programs! {
    // Languages, whose version does not depend on the project.
    "python python2 python3" { runs: UNKNOWN_RUNS, version: "--version -V" }
    "node ruby" { runs: UNKNOWN_RUNS, version: "--version -v" }
    "java" { runs: UNKNOWN_RUNS, version: "--version -version" }
    "perl" { runs: UNKNOWN_RUNS, version: "--version -v" }

    // Compilers.
    "c++ cc g++ gcc" { runs_with: "-wrapper* -fplugin* -B* -specs* @*", writes: Writes::Options("-o*"),
        version: "--version" }
    "clang clang++" { runs_with: "-fplugin* -B* -load* -Xclang* @*", writes: Writes::Options("-o*"),
        version: "--version" }
    "rustc" { runs_with: "-C -Z --codegen @*", writes: Writes::Nothing }

    // Checkers, formatters and test runners.
    "gofmt" { reads: &[ANY.only("-l. -d. -s. -e.")], writes: Writes::Nothing,
        approval: Approval::Program }
    "shellcheck" { reads: &[ANY.only("-x -sefSo=")], approval: Approval::Program }
    "ruff" { writes: Writes::Nothing, approval: Approval::Subcommand, actions: "check format" }
    "eslint pytest rustfmt" { writes: Writes::Nothing, approval: Approval::Program }
    // Options that load code, or settings that name code to load.
    "mypy" { runs_with: "--config-file --plugin*", writes: Writes::Nothing,
        approval: Approval::Program }
    "prettier" { runs_with: "--plugin* --config", writes: Writes::Nothing,
        approval: Approval::Program }
    "tsc" { runs_with: "--plugins", writes: Writes::Nothing, approval: Approval::Program }
    "black clang-format flake8 isort" { approval: Approval::Program }
    // Their settings are programs of the project.
    "jest mocha vitest" { runs: UNKNOWN_RUNS, approval: Approval::Program }

    // Packages and projects.
    "cargo" { runs_with: "--config -Z script", writes: Writes::Nothing, harms: &[PUBLISHES],
        synonyms: &["build b", "run r", "test t", "check c", "doc d", "remove rm"],
        approval: Approval::Subcommand, actions: "add b bench build c check clippy d doc fetch fix \
            fmt metadata nextest t test tree update" }
    "rustup" { runs_with: "run", traits: &[Trait::MultiCall], approval: Approval::Subcommand,
        groups: "component override self target toolchain" }
    "npm" { runs_with: PACKAGE_SCRIPTS, writes: Writes::Nothing, harms: &[PUBLISHES],
        subcommands: programs! {
            "list ls" { reads: &[ANY.only("-gal --depth= --json --all --long --global")] } },
        synonyms: &["-g --global --location", "-f --force", "install i add", "test t tst", "exec x",
            "uninstall un rm r remove unlink", "run run-script rum urn", "ci clean-install ic"],
        traits: &[Trait::Abbreviates, Trait::ReadsConfiguration, Trait::RunsScripts],
        approval: Approval::Subcommand, actions: NPM_ACTIONS, groups: NPM_GROUPS }
    "pnpm yarn" { runs_with: PACKAGE_SCRIPTS, writes: Writes::Nothing, harms: &[PUBLISHES],
        subcommands: programs! { PACKAGE_COMMANDS {} },
        synonyms: &["-g --global --location", "-f --force", "install i add",
            "uninstall un rm r remove unlink"],
        traits: &[Trait::Extensible, Trait::RunsScripts], approval: Approval::Subcommand,
        actions: NPM_ACTIONS, groups: NPM_GROUPS }
    "pip pip3" { runs_with: "install wheel download --global-option --config-settings --python",
        writes: Writes::Nothing, approval: Approval::Subcommand, actions: "check download install \
            wheel", groups: "cache",
        subcommands: programs! { "list show freeze" { reads: &[ANY.only("-v --format= --user")] } } }
    "gem" { runs_with: "install", approval: Approval::Subcommand, actions: "build install",
        harms: &[PUBLISHES, harm(Reach::Remote, ANY.with("push"), "it publishes a package")] }
    "go" { runs_with: "run generate tool -exec* -toolexec* -vettool* -modfile* -overlay* --*",
        writes: Writes::Nothing }
    "flit twine vsce" { harms: &[PUBLISHES] }
    "poetry uv" { runs: UNKNOWN_RUNS, harms: &[PUBLISHES] }

    // Containers and clouds.
    "docker podman" { runs: UNKNOWN_RUNS, writes: Writes::Nothing, version: "--version",
        synonyms: &["-v --volume --mount"],
        subcommands: programs! {
            "ps images logs inspect version info stats top port diff history search" {}
            "compose" { runs: UNKNOWN_RUNS, subcommands: programs! {
                "ps logs ls images version top port" {} } }
        },
        harms: &[DELETES_VOLUMES, harm(Reach::Outside, ANY.with("prune rm rmi"), DELETES_CONTAINERS),
            harm(Reach::Remote, ANY.with("push"), "it publishes an image")] }
    "docker-compose" { runs: UNKNOWN_RUNS, harms: &[DELETES_VOLUMES] }
    "kubectl" { runs: UNKNOWN_RUNS, writes: Writes::Nothing, synonyms: &["-f --filename"],
        subcommands: programs! { "describe explain get logs top version" {
            runs: Runs::Unknown(&[ANY.without("--kubeconfig --server --exec --context -s --profile*")]) } },
        harms: &[DELETES_REMOTE] }
    "systemctl" { runs: UNKNOWN_RUNS, subcommands: programs! {
        "cat is-active is-enabled is-failed list-timers list-units show status" {} } }
    "helm" { runs: UNKNOWN_RUNS,
        harms: &[DELETES_REMOTE, harm(Reach::Remote, ANY.with("push"), "it publishes a chart")] }
    "pulumi terraform tofu" { runs: UNKNOWN_RUNS, harms: &[CHANGES_REMOTE] }
    "aws aliyun az b2 bq cf doctl eksctl firebase fly flyctl gcloud gsutil hcloud heroku ibmcloud \
     linode-cli mc netlify oci railway rclone s3cmd s5cmd scw supabase vercel wrangler" {
        harms: &[DELETES_REMOTE, DELETES_BY_REQUEST] }
    "oc" { runs: UNKNOWN_RUNS, harms: &[DELETES_REMOTE] }
    "gh glab" { writes: Writes::Nothing, approval: Approval::Subcommand,
        harms: &[DELETES_REMOTE, DELETES_BY_REQUEST, DELETES_BY_QUERY, DELETES_WITH],
        runs_with: "alias extension", groups: "*" }
    "dropdb dropuser" { harms: &[harm(Reach::Remote, ANY, "it deletes a database or a user")] }
};
