//! Which of its arguments a command writes to.

use super::known;
use crate::shell::{Command, Role, Word};

/// Programs that write to all their operands.
const ALL: &str = "rm rmdir tee touch truncate shred chmod chown chgrp mkdir unlink mkfifo mknod mv \
    sponge patch dos2unix unix2dos setfacl chattr vim vi nvim ex ed nano pico emacs micro hx kak sed \
    sort crontab dd srm trash gio rename mmv";
/// Programs that write to their last operand, or to what an option names.
const LAST: &str = "cp ln install rsync scp rclone gcp ginstall link symlink ditto";
/// Programs whose options name what they write; with those options.
const OPTIONS: &[(&str, &str)] = &[
    ("curl", "-o --output -O --output-dir -D --dump-header -c --cookie-jar --trace"),
    ("wget", "-O --output-document -P --directory-prefix -o --output-file -a"),
    ("tar", "-C --directory -f --file"),
    ("unzip", "-d"),
    ("gcc", "-o"),
    ("cc", "-o"),
    ("clang", "-o"),
    ("git", "-o --output --template --separate-git-dir"),
];
/// Programs that take source files from anywhere and do not write to them.
const READERS: &str = "cargo rustc make cmake ninja pytest mypy ruff eslint prettier tsc node-gyp gh \
    docker podman kubectl npm pnpm yarn pip pip3 go gofmt rustfmt git diff man less more open xdg-open \
    file exiftool identify ssh ssh-keygen ssh-add gpg test [ source . pi";
/// Settings of git that cannot run anything.
const HARMLESS: &str = "user.name user.email init.defaultbranch core.quotepath core.autocrlf \
    core.filemode core.ignorecase pull.rebase push.default commit.gpgsign fetch.prune merge.ff \
    advice.detachedhead color.ui safe.directory";

/// The words of files that a command may write, and whether it certainly does.
pub(super) fn written(command: &Command) -> (Vec<&Word>, bool) {
    let Some(base) = command.base().filter(|_| command.role != Role::Starts) else {
        return (vec![], false);
    };
    let arguments = command.words.get(1..).unwrap_or_default();
    let operands = || arguments.iter().filter(|word| !is_option(word));
    if has(ALL, base) {
        return (arguments.iter().collect(), true);
    }
    let target = |word: &&Word| {
        word.literal().is_some_and(|t| t.starts_with("-t") || t.starts_with("--target-directory"))
    };
    if has(LAST, base) {
        // With `-t` the folder is not the last; then any may be it.
        let all = arguments.iter().any(|word| target(&word));
        return if all {
            (arguments.iter().collect(), true)
        } else {
            (operands().next_back().into_iter().collect(), true)
        };
    }
    if let Some((_, options)) = OPTIONS.iter().find(|(name, _)| *name == base) {
        let mut words = Vec::new();
        for (at, word) in arguments.iter().enumerate() {
            let Some(text) = word.literal() else { continue };
            let name = text.split('=').next().unwrap_or_default();
            let short = |o: &str| o.len() == 2 && text.starts_with(o);
            if options.split_ascii_whitespace().any(|o| o == name || short(o)) {
                words.push(word);
                words.extend(arguments.get(at + 1));
            }
        }
        return (words, true);
    }
    if has(READERS, base) {
        return (vec![], false);
    }
    match command.role {
        // The first operand is the script, which is read.
        Role::Opaque(_) => (operands().skip(1).collect(), false),
        _ => (arguments.iter().collect(), false),
    }
}

/// Whether it changes what git does, more than by a name or a colour.
pub(super) fn changes_git_config(command: &Command) -> bool {
    if command.base() != Some("git") || known::is_read_only(command) {
        return false;
    }
    let words: Option<Vec<&str>> = command.words.iter().skip(1).map(Word::literal).collect();
    match words.as_deref() {
        Some(["config", rest @ ..]) => {
            let key = rest.iter().find(|word| !word.starts_with('-') && **word != "set");
            let file = rest.iter().any(|w| w.starts_with("-f") || w.starts_with("--file"));
            file || key.is_none_or(|key| !has(HARMLESS, &key.to_ascii_lowercase()))
        }
        Some(_) => false,
        None => command.words.get(1).and_then(Word::literal) == Some("config"),
    }
}

fn is_option(word: &Word) -> bool {
    word.literal().is_some_and(|text| text.starts_with('-') && text.len() > 1)
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}
