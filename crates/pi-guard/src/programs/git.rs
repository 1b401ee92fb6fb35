//! Git and its subcommands.

use super::arguments::{ANY, BARE};
use super::{Approval, Program, READS, Reach, Trait, Writes, harm, programs};

const DISCARDS: &str = "it discards uncommitted changes";
const REWRITES: &str = "it rewrites history";
const MAX: usize = usize::MAX;
/// Force, or paths that stand for many files.
const FORCED: &str = "-f --force -- . .. ./* ../* :* [*]";
const LISTS_BRANCHES: &str =
    "-arvl --all --list --show-current --sort= --format= --merged --no-merged --contains";
/// Options of subcommands that show something. Left out are those that write a file, or run a
/// filter, a pager or a program for signatures.
const VIEW: &str = "-- -0123456789abcdefghijkmopqrstuvwxyzADEFHIPRTWX -nSGLUMCBl? --abbrev \
    --abbrev-commit --abbrev-ref --after --all --always --author --before --branch --branches \
    --cached --check --color --contains --count --date --decorate --diff-filter --exclude-standard \
    --first-parent --follow --format --git-dir --graph --grep --ignored --is-ancestor \
    --is-inside-work-tree --max-count --merge-base --merged --merges --modified --name-only \
    --name-status --no-color --no-decorate --no-index --no-merges --no-patch --numstat --oneline \
    --others --patch --porcelain --pretty --quiet --remotes --reverse --short --shortstat \
    --show-current --show-prefix --show-toplevel --since --sort --staged --stat --summary --tags \
    --until --untracked-files --verify --word-diff";
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
        version: "--version",
        prints_number: &[ANY.words(&["rev-list", "--count"]).only("").operands(1, 1)],
        writes: Writes::Options("-o --output --template --separate-git-dir"),
        subcommands: SUBCOMMANDS,
        settings: SETTINGS,
        // A refspec with a plus is forced, and one without a source deletes.
        synonyms: &["-f --force +*", "-D --delete", "-d --delete :*", "-a --all", "-n --no-verify"],
        traits: &[Trait::Extensible, Trait::ReadsConfiguration],
        approval: Approval::Subcommand,
        actions: "add am apply archive cherry-pick commit fetch format-patch init merge mv pull \
            revert",
        groups: "bundle lfs notes remote sparse-checkout" }
};

/// Left out are subcommands that run helpers (`credential`) or leave jobs behind (`maintenance`).
const SUBCOMMANDS: &[Program] = programs! {
    "add apply archive bundle commit format-patch fsck gui hash-object help hook init ls-remote notes \
     pull repack replace rerere rm show-branch sparse-checkout symbolic-ref update-index \
     verify-commit write-tree" {}
    "am cherry-pick merge revert" {
        harms: &[harm(Reach::Workspace, ANY.with("--abort --skip"), DISCARDS)] }
    "fetch" { harms: &[harm(Reach::Repository, ANY.with("-f -p --force --prune +*"),
        "it overwrites or deletes branches")] }
    "mv" { harms: &[harm(Reach::Workspace, ANY.with("-f --force"), "it overwrites files")] }
    "status diff log show rev-parse ls-files ls-tree blame annotate describe shortlog cat-file \
     rev-list merge-base name-rev for-each-ref show-ref count-objects cherry check-ignore \
     diff-tree diff-index diff-files whatchanged version range-diff" {
        reads: &[ANY.only(VIEW)] }
    "grep" { runs_with: "-O", reads: &[ANY.only("-- -aceEFGhHiIlLnPqrvwWz -ABCm? --cached --untracked \
        --count --files-with-matches --ignore-case --line-number --word-regexp --fixed-strings")] }
    "check-attr" { reads: READS }
    "var" { reads: &[ANY.only("").operands(1, 1)] }
    "bisect" { reads: &[BARE.words(&["log"])], runs_with: "run" }
    "branch" { harms: &[
            harm(Reach::Repository, ANY.with("-d --delete"), "it deletes a branch"),
            harm(Reach::Repository, ANY.with("-D -M -C -f --force"), "it deletes commits of a branch")],
        reads: &[BARE.only(LISTS_BRANCHES),
            ANY.only(LISTS_BRANCHES).with("-l --list --merged --no-merged --contains")] }
    "checkout" { harms: &[harm(Reach::Workspace, ANY.with(FORCED), DISCARDS),
        harm(Reach::Repository, ANY.with("-B"), REWRITES),
        // `git checkout HEAD~1 file`
        harm(Reach::Workspace,
            ANY.without("-b -B -t --track --orphan --detach").operands(2, MAX), DISCARDS)] }
    "clean" { reads: &[BARE.only("-dnxX --dry-run").with("-n --dry-run")],
        harms: &[harm(Reach::Workspace, ANY.with("-f --force"), "it deletes untracked files"),
            harm(Reach::Uncovered, ANY.with("-f --force").and("-x -X"), "it deletes ignored files")] }
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
    "filter-branch" { runs_with: "*-filter*", harms: &[harm(Reach::Repository, ANY, REWRITES)] }
    "gc prune update-ref" { harms: &[harm(Reach::Repository, ANY.with("*"), REWRITES)] }
    "mergetool" { runs_with: "-t" }
    "push" { harms: &[harm(Reach::Remote,
        ANY.with("-f -d --force --force-with-lease --force-if-includes --delete --mirror --prune +* :*"),
        "it overwrites or deletes remote branches")] }
    "reflog" { reads: &[BARE, ANY.words(&["show"]).only(VIEW)],
        harms: &[harm(Reach::Repository, ANY.with("expire delete drop"), REWRITES)] }
    "remote" { reads: &[BARE.only("-v"), BARE.words(&["show"]),
        ANY.words(&["get-url"]).only("").operands(1, 1)] }
    "reset" { harms: &[harm(Reach::Repository, ANY.with("--hard --merge --keep"), DISCARDS)] }
    // Changes that are only unstaged are still in the working tree.
    "restore" { harms: &[
        harm(Reach::Workspace, ANY.without("-S --staged").operands(1, MAX), DISCARDS),
        harm(Reach::Workspace, ANY.with("-W --worktree --pathspec-from-file"), DISCARDS)] }
    "stash" { reads: &[BARE.words(&["list"]), ANY.words(&["show"]).only("-pu --patch --stat")],
        harms: &[harm(Reach::Repository, ANY.with("drop clear"), DISCARDS)] }
    "submodule" { reads: &[BARE.words(&["status"])], runs_with: "foreach",
        harms: &[harm(Reach::Uncovered, ANY.words(&["deinit"]).with("-f --force"), DISCARDS)] }
    "switch" { harms: &[
        harm(Reach::Workspace, ANY.with("-f --force --discard-changes"), DISCARDS),
        harm(Reach::Repository, ANY.with("-C --force-create"), REWRITES)] }
    "tag" { reads: &[BARE, ANY.with("-l --list").only("-l --list --sort --format --contains")],
        harms: &[harm(Reach::Repository, ANY.with("-d --delete -f --force"), "it deletes a tag")] }
    "worktree" { reads: &[BARE.words(&["list"])],
        harms: &[harm(Reach::Outside, ANY.words(&["remove"]).with("-f --force"), DISCARDS)] }
};
