//! Commands that destroy: some so badly that no rule permits them, others that a profile may
//! want to be asked about.

use std::path::Path;

use super::paths::Folders;
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
pub(super) fn harm(command: &Command, folders: Folders<'_>) -> Option<Harm> {
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
            let vital = arguments.iter().any(|word| is_vital(word, folders));
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
            if removes && arguments.iter().any(|word| is_vital(word, folders)) && !has("-name") {
                return Some(Harm::Ruinous("it removes the system or the home folder"));
            }
            has("-delete").then_some(Harm::Destructive("it removes files for good"))
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
        "mkfs" | "wipefs" | "mkswap" => Some(Harm::Ruinous("it overwrites a disk")),
        _ if base.starts_with("mkfs.") => Some(Harm::Ruinous("it overwrites a disk")),
        "chmod" | "chown" | "chgrp" if option(arguments, 'R', "--recursive") => {
            let vital = arguments.iter().any(|word| is_vital(word, folders));
            Some(if vital {
                Harm::Ruinous("it changes the rights of the whole system")
            } else {
                Harm::Destructive("it changes the rights of many files")
            })
        }
        "shred" | "truncate" | "srm" | "unlink" => Some(Harm::Destructive("it destroys files")),
        "fdisk" | "parted" | "sfdisk" | "gdisk" => Some(Harm::Destructive("it changes disks")),
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
        "npm" | "pnpm" | "yarn" | "cargo" | "twine" | "gem"
            if matches!(literal(0), Some("publish" | "upload" | "push" | "yank" | "unpublish")) =>
        {
            Some(Harm::Destructive("it publishes"))
        }
        "kubectl" | "helm" if matches!(literal(0), Some("delete" | "uninstall" | "drain")) => {
            Some(Harm::Destructive("it removes what runs elsewhere"))
        }
        "terraform" if matches!(literal(0), Some("destroy" | "apply")) => {
            Some(Harm::Destructive("it changes what runs elsewhere"))
        }
        "docker" | "podman"
            if matches!(literal(1), Some("prune" | "rm"))
                || matches!(literal(0), Some("rm" | "rmi")) =>
        {
            Some(Harm::Destructive("it removes containers or images"))
        }
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
        "reset" if has("--hard") => Some("it discards changes"),
        "clean" if force => Some("it removes files that are not in git"),
        // What is only taken back from the next commit is still there.
        "restore" if has("--staged") && !has("--worktree") && !has("-W") => None,
        "checkout" | "restore" | "switch" if force || has("--") || has(".") => {
            Some("it discards changes")
        }
        "branch" | "tag" if has("-D") || has("-d") || has("--delete") => {
            Some("it removes a branch or tag")
        }
        "stash" if has("drop") || has("clear") => Some("it discards changes"),
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
        dense.contains(&format!("{name}|{name}&")) || dense.contains(&format!("{name}&{name};}}"))
    }) || dense.contains(":(){:|:&};:")
}

fn option(arguments: &[Word], short: char, long: &str) -> bool {
    arguments
        .iter()
        .filter_map(Word::literal)
        .any(|text| is_short(text) && text.contains(short) || is_long(text, long))
}

fn is_disk(word: &Word) -> bool {
    let text = word.literal().unwrap_or_else(|| word.raw());
    ["/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/disk", "/dev/mmcblk", "/dev/mapper/"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn is_vital(word: &Word, folders: Folders<'_>) -> bool {
    let text = match word {
        Word::Literal { text, .. } => text.as_str(),
        // `/*`, `~/*`, `$HOME`, `"$HOME"/*`
        Word::Unknown { raw, .. } => raw.as_str(),
    };
    let text = text.replace(['"', '{', '}'], "");
    let text = match text.trim_end_matches('*').trim_end_matches('/') {
        "" if text.starts_with('/') => "/",
        "" => ".",
        "$HOME" => "~",
        other => other,
    };
    let path = folders.absolute(text, folders.cwd);
    VITAL.split_ascii_whitespace().any(|vital| path == Path::new(vital))
        || folders.home.is_some_and(|home| path == home)
        || text == "~"
}
