//! Commands that destroy: some so badly that no rule permits them, others that a profile may
//! want to be asked about.

use std::path::Path;

use super::paths::Directories;
use super::rule::{is_long, is_short};
use crate::shell::{Access, Analysis, Command, Word};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Harm {
    /// It cannot be undone, but may be meant.
    Destructive(&'static str),
    /// It ruins the machine or the account. Never meant.
    Ruinous(&'static str),
}

/// Folders whose removal ruins the machine.
const VITAL: &str = "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /sys /usr /var \
    /Users /System /Library /Applications";

/// The harm a command does, if it is a known one.
pub(super) fn harm(command: &Command, directories: Directories<'_>) -> Option<Harm> {
    if command.redirects.iter().any(|r| r.access != Access::Read && is_disk(&r.target)) {
        return Some(Harm::Ruinous("it overwrites a disk"));
    }
    let base = command.base()?;
    let arguments = &command.words[1..];
    let literal = |at: usize| arguments.get(at).and_then(Word::literal);
    match base {
        "rm" => {
            let recursive =
                option(arguments, 'r', "--recursive") || option(arguments, 'R', "--recursive");
            let vital = arguments.iter().any(|word| is_vital(word, directories));
            if recursive && vital
                || arguments.iter().any(|w| w.literal() == Some("--no-preserve-root"))
            {
                return Some(Harm::Ruinous("it removes the system or the home folder"));
            }
            let force = option(arguments, 'f', "--force");
            (recursive || force).then_some(Harm::Destructive("it removes files for good"))
        }
        "find" => {
            let has = |text: &str| arguments.iter().any(|w| w.literal() == Some(text));
            let removes = has("-delete") || has("rm") || has("shred");
            if removes && arguments.iter().any(|word| is_vital(word, directories)) && !has("-name")
            {
                return Some(Harm::Ruinous("it removes the system or the home folder"));
            }
            has("-delete").then_some(Harm::Destructive("it removes files for good"))
        }
        "mv" if operands(arguments).rev().skip(1).any(|word| is_vital(word, directories)) => {
            Some(Harm::Ruinous("it moves the system or the home folder away"))
        }
        "rsync"
            if arguments.iter().any(|w| w.literal().is_some_and(|t| t.starts_with("--del")))
                && operands(arguments)
                    .next_back()
                    .is_some_and(|word| is_vital(word, directories)) =>
        {
            Some(Harm::Ruinous("it removes the system or the home folder"))
        }
        "tee" | "cp" | "mv" | "shred" | "install" | "ln" if arguments.iter().any(is_disk) => {
            Some(Harm::Ruinous("it overwrites a disk"))
        }
        "dd" if arguments.iter().any(|w| {
            w.literal().is_some_and(|t| t.starts_with("of=/dev/") && is_disk(&Word::plain(&t[3..])))
        }) =>
        {
            Some(Harm::Ruinous("it overwrites a disk"))
        }
        "mkfs" | "wipefs" | "mkswap" | "blkdiscard" => Some(Harm::Ruinous("it overwrites a disk")),
        _ if base.starts_with("mkfs.") => Some(Harm::Ruinous("it overwrites a disk")),
        "chmod" | "chown" | "chgrp" if option(arguments, 'R', "--recursive") => {
            let vital = arguments.iter().any(|word| is_vital(word, directories));
            Some(if vital {
                Harm::Ruinous("it changes the rights of the whole system")
            } else {
                Harm::Destructive("it changes the rights of many files")
            })
        }
        "shred" | "truncate" | "srm" | "unlink" => Some(Harm::Destructive("it destroys files")),
        "fdisk" | "parted" | "sfdisk" | "gdisk" | "sgdisk" | "cfdisk" => {
            Some(Harm::Destructive("it changes disks"))
        }
        "shutdown" | "reboot" | "halt" | "poweroff" | "init" | "telinit" => {
            Some(Harm::Destructive("it stops the machine"))
        }
        "kill" | "pkill" | "killall" if arguments.iter().any(|w| w.literal() == Some("-1")) => {
            Some(Harm::Destructive("it stops every process"))
        }
        "sudo" | "doas" | "su" | "pkexec" | "runuser" => {
            Some(Harm::Destructive("it runs with the rights of another user"))
        }
        "crontab" if literal(0) == Some("-r") => Some(Harm::Destructive("it removes all jobs")),
        "git" => git(arguments).map(Harm::Destructive),
        _ => elsewhere(base, arguments).map(Harm::Destructive),
    }
}

/// What is done where others see it.
fn elsewhere(base: &str, arguments: &[Word]) -> Option<&'static str> {
    // Anywhere among the words: options with values may come before it.
    let says = |words: &str| {
        let literals = || arguments.iter().filter_map(Word::literal);
        words.split_ascii_whitespace().any(|word| literals().any(|literal| literal == word))
    };
    match base {
        "npm" | "pnpm" | "yarn" | "cargo" | "twine" | "gem" | "poetry" | "uv" | "hatch"
        | "flit" | "vsce" | "lerna"
            if says("publish upload yank unpublish")
                && !arguments.iter().any(|w| w.literal() == Some("--dry-run")) =>
        {
            Some("it publishes")
        }
        "gem" | "docker" | "podman" | "helm" if says("push") => Some("it publishes"),
        "kubectl" | "helm" | "oc" if says("delete uninstall drain") => {
            Some("it removes what runs elsewhere")
        }
        "terraform" | "tofu" | "pulumi" if says("destroy apply up") => {
            Some("it changes what runs elsewhere")
        }
        "docker" | "podman" if says("prune rm rmi") => Some("it removes containers or images"),
        "docker" | "podman" | "docker-compose" if says("down") && says("-v --volumes") => {
            Some("it removes containers or images")
        }
        "gh" if says("delete") => Some("it removes what others may have"),
        "aws" | "gsutil" | "gcloud" | "az" if says("rm rb delete terminate-instances") => {
            Some("it removes what is stored elsewhere")
        }
        "rsync"
            if arguments.iter().any(|w| w.literal().is_some_and(|t| t.starts_with("--del"))) =>
        {
            Some("it removes files for good")
        }
        "dropdb" | "dropuser" => Some("it removes a database"),
        _ => None,
    }
}

fn git(arguments: &[Word]) -> Option<&'static str> {
    let force = option(arguments, 'f', "--force");
    let has = |text: &str| arguments.iter().any(|w| w.literal() == Some(text));
    match arguments.first().and_then(Word::literal)? {
        "push"
            if force
                || ["--force-with-lease", "--delete", "-d", "--mirror", "--prune"]
                    .iter()
                    .any(|o| has(o))
                || arguments
                    .iter()
                    .filter_map(Word::literal)
                    .any(|t| t.starts_with(['+', ':'])) =>
        {
            Some("it overwrites what others may have")
        }
        "reset" if has("--hard") || has("--merge") => Some("it discards changes"),
        "clean" if force => Some("it removes files that are not in git"),
        // What is only taken back from the next commit is still there.
        "restore" if (has("--staged") || has("-S")) && !has("--worktree") && !has("-W") => None,
        "checkout" | "restore" | "switch"
            if force || has("--") || has(".") || has("--discard-changes") =>
        {
            Some("it discards changes")
        }
        // `git checkout HEAD~1 file`
        "checkout"
            if !["-b", "-B", "-t", "--track", "--orphan", "--detach"].iter().any(|o| has(o))
                && arguments.iter().filter(|w| !w.may_be_option()).count() > 2 =>
        {
            Some("it discards changes")
        }
        "branch" | "tag" if has("-D") || has("-d") || has("--delete") => {
            Some("it removes a branch or tag")
        }
        "stash" if has("drop") || has("clear") => Some("it discards changes"),
        "reflog" if !has("expire") && !has("delete") && !has("drop") => None,
        "filter-branch" | "gc" | "prune" | "update-ref" | "reflog" if arguments.len() > 1 => {
            Some("it rewrites history")
        }
        _ => None,
    }
}

/// Whether a function of the script starts itself twice in the background.
pub(super) fn is_fork_bomb(script: &str, analysis: &Analysis) -> bool {
    let dense: String = script.chars().filter(|c| !c.is_whitespace()).collect();
    analysis.functions.iter().any(|name| {
        dense.contains(&format!("{name}|{name}&"))
            || dense.contains(&format!("{name}&{name};}}"))
            || dense.contains(&format!("{name}&{name}&"))
    }) || dense.contains(":(){:|:&};:")
}

fn option(arguments: &[Word], short: char, long: &str) -> bool {
    arguments
        .iter()
        .filter_map(Word::literal)
        .any(|text| is_short(text) && text.contains(short) || is_long(text, long))
}

fn operands(arguments: &[Word]) -> impl DoubleEndedIterator<Item = &Word> {
    arguments.iter().filter(|word| word.literal().is_none_or(|text| !text.starts_with('-')))
}

/// Whether a word is a disk as a whole.
pub(super) fn is_disk(word: &Word) -> bool {
    let text = word.literal().unwrap_or_else(|| word.raw());
    ["/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/disk", "/dev/mmcblk", "/dev/mapper/"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn is_vital(word: &Word, directories: Directories<'_>) -> bool {
    let text = match word {
        Word::Literal { text, .. } => text.as_str(),
        // `/*`, `~/*`, `$HOME`, `"$HOME"/*`
        Word::Unknown { raw, .. } => raw.as_str(),
    };
    // `${HOME:?}`
    let home = text.split_once("${HOME").and_then(|(before, rest)| {
        let (_, after) = rest.split_once('}').filter(|_| !rest.starts_with(is_name))?;
        Some(format!("{before}~{after}"))
    });
    let text = home.unwrap_or_else(|| text.to_owned()).replace(['"', '\'', '{', '}'], "");
    let text = match text.strip_prefix("$HOME") {
        Some(rest) if !rest.starts_with(is_name) => format!("~{rest}"),
        _ => text,
    };
    // A last name that is only a pattern is all that is in the folder.
    let (above, last) = text.trim_end_matches('/').rsplit_once('/').unwrap_or((".", &text));
    let pattern =
        last.contains(['*', '?']) && without_sets(last).chars().all(|c| "*?.,".contains(c));
    let somebody = last.starts_with('$') && matches!(above, "/home" | "/Users");
    let text = match () {
        () if somebody => "~",
        () if pattern && above.is_empty() => "/",
        () if pattern => above,
        () => text.as_str(),
    };
    let path = directories.absolute(text, directories.cwd);
    VITAL.split_ascii_whitespace().any(|vital| path == Path::new(vital))
        || directories.home.is_some_and(|home| path == home)
        || matches!(text, "~" | "~/")
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// `[a-z]` taken out.
fn without_sets(name: &str) -> String {
    match (name.find('['), name.rfind(']')) {
        (Some(open), Some(close)) if open < close => [&name[..open], &name[close + 1..]].concat(),
        _ => name.to_owned(),
    }
}
