//! Git and its subcommands.

use super::arguments::{ANY, BARE};
use super::{Approval, Program, Runs, Trait, Writes, harm, program, reader, wrapper};

const DISCARDS: &str = "it discards uncommitted changes";
const REWRITES: &str = "it rewrites history";
const LISTS_BRANCHES: &str =
    "-arvl --all --list --show-current --sort= --format= --merged --no-merged --contains";
/// Settings that execute nothing; every other one may.
const SETTINGS: &str = "user.name user.email init.defaultbranch core.quotepath core.autocrlf \
    core.filemode core.ignorecase pull.rebase push.default commit.gpgsign fetch.prune merge.ff \
    safe.directory advice.* color.*";

pub(super) const PROGRAMS: &[Program] = &[Program {
    options: "-c: -P -C= --git-dir= --work-tree= --namespace= --no-pager --bare --no-optional-locks \
        --literal-pathspecs --no-replace-objects --icase-pathspecs",
    runs_with: "--upload-pack --receive-pack --exec --extcmd --open-files-in-pager --template \
        --config --tool --import-cmd --to-cmd --cc-cmd --sendmail-cmd *ext::*",
    reads: &[BARE],
    prints_number: &[ANY.words(&["rev-list", "--count"]).only("").operands(1, 1)],
    writes: Writes::Options("-o --output --template --separate-git-dir"),
    subcommands: SUBCOMMANDS,
    settings: SETTINGS,
    // A refspec with a plus is forced, and one without a source deletes.
    synonyms: &["-f --force +*", "-D --delete", "-d --delete :*", "-a --all", "-n --no-verify"],
    directory_options: "-C --work-tree",
    traits: &[Trait::Dashed, Trait::Extensible],
    approval: Approval::Subcommand,
    ..program("git")
}];

/// Left out are subcommands that run helpers (`credential`) or leave jobs behind (`maintenance`).
const SUBCOMMANDS: &[Program] = &[
    program(
        "add am apply archive bundle cherry-pick commit fetch format-patch fsck gui hash-object \
         help hook init ls-remote merge mv notes pull repack replace rerere revert rm show-branch \
         sparse-checkout symbolic-ref update-index verify-commit write-tree",
    ),
    Program {
        reads: &[ANY.without(
            "--output --ext-diff --textconv --open-files-in-pager -O --exec --upload-pack \
             --filters --paginate --show-signature",
        )],
        ..program(
            "status diff log show rev-parse ls-files ls-tree blame annotate describe shortlog \
             cat-file rev-list merge-base name-rev for-each-ref show-ref count-objects cherry \
             check-ignore diff-tree diff-index diff-files whatchanged version range-diff",
        )
    },
    Program {
        reads: &[ANY.without("--textconv --open-files-in-pager -O")],
        runs_with: "-O",
        ..program("grep")
    },
    reader("check-attr"),
    Program { reads: &[ANY.operands(1, 1)], ..program("var") },
    Program {
        subcommands: &[wrapper("run", "", 0), Program { reads: &[BARE], ..program("log") }],
        ..program("bisect")
    },
    Program {
        reads: &[
            BARE.only(LISTS_BRANCHES),
            ANY.only(LISTS_BRANCHES).with(&["-l --list --merged --no-merged --contains"]),
        ],
        harms: &[harm(ANY.with(&["-D -d --delete"]), "it deletes a branch")],
        ..program("branch")
    },
    Program {
        harms: &[
            harm(ANY.with(&["-f --force -- ."]), DISCARDS),
            // `git checkout HEAD~1 file`
            harm(
                ANY.without("-b -B -t --track --orphan --detach").operands(2, usize::MAX),
                DISCARDS,
            ),
        ],
        ..program("checkout")
    },
    Program {
        reads: &[BARE.only("-dnxX --dry-run").with(&["-n --dry-run"])],
        harms: &[harm(ANY.with(&["-f --force"]), "it deletes untracked files")],
        ..program("clean")
    },
    Program { runs_with: "-u -c", ..program("clone") },
    Program {
        reads: &[
            ANY.only("-l --get --get-all --list --global --local --system")
                .with(&["-l --get --get-all --list"])
                .operands(0, 1),
            // Without a value it prints the one that is set.
            ANY.only("--global --local --system").with(&["*.*"]).operands(1, 1),
            ANY.words(&["get"]).only("").operands(0, 1),
        ],
        settings: SETTINGS,
        ..program("config")
    },
    Program { runs: Runs::Scripts("-x --extcmd"), runs_with: "-x", ..program("difftool") },
    Program {
        runs: Runs::Scripts("*-filter*"),
        harms: &[harm(ANY.with(&["*"]), REWRITES)],
        ..program("filter-branch")
    },
    Program { harms: &[harm(ANY.with(&["*"]), REWRITES)], ..program("gc prune update-ref") },
    Program { runs_with: "-t", ..program("mergetool") },
    Program {
        harms: &[harm(
            ANY.with(&["-f -d --force --force-with-lease --delete --mirror --prune +* :*"]),
            "it overwrites or deletes remote branches",
        )],
        ..program("push")
    },
    Program { runs: Runs::Scripts("-x --exec"), runs_with: "-x", ..program("rebase") },
    Program {
        reads: &[BARE, ANY.words(&["show"])],
        harms: &[harm(ANY.with(&["expire delete drop"]), REWRITES)],
        ..program("reflog")
    },
    Program {
        reads: &[
            BARE.only("-v"),
            BARE.words(&["show"]),
            ANY.words(&["get-url"]).only("").operands(1, 1),
        ],
        ..program("remote")
    },
    Program { harms: &[harm(ANY.with(&["--hard --merge"]), DISCARDS)], ..program("reset") },
    Program {
        harms: &[
            // Changes that are only unstaged are still in the working tree.
            harm(ANY.with(&["-f --force -- ."]).without("-S --staged"), DISCARDS),
            harm(ANY.with(&["-f --force -- .", "-W --worktree"]), DISCARDS),
        ],
        ..program("restore")
    },
    Program {
        reads: &[BARE.words(&["list"]), ANY.words(&["show"]).without("--*")],
        harms: &[harm(ANY.with(&["drop clear"]), DISCARDS)],
        ..program("stash")
    },
    Program {
        options: "-q --quiet",
        subcommands: &[
            Program { runs: Runs::Joined, ..program("foreach") },
            Program { reads: &[BARE], ..program("status") },
        ],
        ..program("submodule")
    },
    Program {
        harms: &[harm(ANY.with(&["-f --force -- . --discard-changes"]), DISCARDS)],
        ..program("switch")
    },
    Program {
        reads: &[BARE, ANY.with(&["-l --list"]).without("-d -f -a -s")],
        harms: &[harm(ANY.with(&["-D -d --delete"]), "it deletes a tag")],
        ..program("tag")
    },
    Program { reads: &[BARE.words(&["list"])], ..program("worktree") },
];
