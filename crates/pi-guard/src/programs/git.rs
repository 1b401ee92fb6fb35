//! Git and its subcommands.

use super::arguments::{ANY, BARE};
use super::{Approval, Program, READS, Trait, Writes, harm, programs};

const DISCARDS: &str = "it discards uncommitted changes";
const REWRITES: &str = "it rewrites history";
const LISTS_BRANCHES: &str =
    "-arvl --all --list --show-current --sort= --format= --merged --no-merged --contains";
/// Settings that execute nothing; every other one may.
const SETTINGS: &str = "user.name user.email init.defaultbranch core.quotepath core.autocrlf \
    core.filemode core.ignorecase pull.rebase push.default commit.gpgsign fetch.prune merge.ff \
    safe.directory advice.* color.*";

pub(super) const PROGRAMS: &[Program] = programs! {
    "git" {
        options: "-c: -P -C= --git-dir= --work-tree= --namespace= --no-pager --bare \
            --no-optional-locks --literal-pathspecs --no-replace-objects --icase-pathspecs",
        runs_with: "--upload-pack --receive-pack --exec --extcmd --open-files-in-pager --template \
            --config --tool --import-cmd --to-cmd --cc-cmd --sendmail-cmd *ext::*",
        reads: &[BARE],
        prints_number: &[ANY.words(&["rev-list", "--count"]).only("").operands(1, 1)],
        writes: Writes::Options("-o --output --template --separate-git-dir"),
        subcommands: SUBCOMMANDS,
        settings: SETTINGS,
        // A refspec with a plus is forced, and one without a source deletes.
        synonyms: &["-f --force +*", "-D --delete", "-d --delete :*", "-a --all", "-n --no-verify"],
        traits: &[Trait::Extensible],
        approval: Approval::Subcommand }
};

/// Left out are subcommands that run helpers (`credential`) or leave jobs behind (`maintenance`).
const SUBCOMMANDS: &[Program] = programs! {
    "add am apply archive bundle cherry-pick commit fetch format-patch fsck gui hash-object help \
     hook init ls-remote merge mv notes pull repack replace rerere revert rm show-branch \
     sparse-checkout symbolic-ref update-index verify-commit write-tree" {}
    "status diff log show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file \
     rev-list merge-base name-rev for-each-ref show-ref count-objects cherry check-ignore \
     diff-tree diff-index diff-files whatchanged version range-diff" {
        reads: &[ANY.without("--output --ext-diff --textconv --exec --upload-pack --filters \
            --paginate --show-signature -O --open-files-in-pager")] }
    "grep" { reads: &[ANY.without("--textconv -O --open-files-in-pager")], runs_with: "-O" }
    "check-attr" { reads: READS }
    "var" { reads: &[ANY.operands(1, 1)] }
    "bisect" { reads: &[BARE.words(&["log"])], runs_with: "run" }
    "branch" { harms: &[harm(ANY.with("-D -d --delete"), "it deletes a branch")],
        reads: &[BARE.only(LISTS_BRANCHES),
            ANY.only(LISTS_BRANCHES).with("-l --list --merged --no-merged --contains")] }
    "checkout" { harms: &[harm(ANY.with("-f --force -- ."), DISCARDS),
        // `git checkout HEAD~1 file`
        harm(ANY.without("-b -B -t --track --orphan --detach").operands(2, usize::MAX), DISCARDS)] }
    "clean" { reads: &[BARE.only("-dnxX --dry-run").with("-n --dry-run")],
        harms: &[harm(ANY.with("-f --force"), "it deletes untracked files")] }
    "clone" { runs_with: "-u -c" }
    "config" { settings: SETTINGS,
        reads: &[
            ANY.only("-l --get --get-all --list --global --local --system")
                .with("-l --get --get-all --list").operands(0, 1),
            // Without a value it prints the one that is set.
            ANY.only("--global --local --system").with("*.*").operands(1, 1),
            ANY.words(&["get"]).only("").operands(0, 1),
        ] }
    "difftool rebase" { runs_with: "-x" }
    "filter-branch" { runs_with: "*-filter*", harms: &[harm(ANY.with("*"), REWRITES)] }
    "gc prune update-ref" { harms: &[harm(ANY.with("*"), REWRITES)] }
    "mergetool" { runs_with: "-t" }
    "push" { harms: &[harm(
        ANY.with("-f -d --force --force-with-lease --delete --mirror --prune +* :*"),
        "it overwrites or deletes remote branches")] }
    "reflog" { reads: &[BARE, ANY.words(&["show"])],
        harms: &[harm(ANY.with("expire delete drop"), REWRITES)] }
    "remote" { reads: &[BARE.only("-v"), BARE.words(&["show"]),
        ANY.words(&["get-url"]).only("").operands(1, 1)] }
    "reset" { harms: &[harm(ANY.with("--hard --merge"), DISCARDS)] }
    // Changes that are only unstaged are still in the working tree.
    "restore" { harms: &[
        harm(ANY.with("-f --force -- .").without("-S --staged"), DISCARDS),
        harm(ANY.with("-f --force -- .").and("-W --worktree"), DISCARDS)] }
    "stash" { reads: &[BARE.words(&["list"]), ANY.words(&["show"]).without("--*")],
        harms: &[harm(ANY.with("drop clear"), DISCARDS)] }
    "submodule" { reads: &[BARE.words(&["status"])], runs_with: "foreach" }
    "switch" { harms: &[harm(ANY.with("-f --force -- . --discard-changes"), DISCARDS)] }
    "tag" { reads: &[BARE, ANY.with("-l --list").without("-d -f -a -s")],
        harms: &[harm(ANY.with("-D -d --delete"), "it deletes a tag")] }
    "worktree" { reads: &[BARE.words(&["list"])] }
};
