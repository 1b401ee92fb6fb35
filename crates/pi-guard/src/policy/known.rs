//! Commands that are known to read only, with the options that would make them do more.

use super::rule::{is_long, is_short};
use crate::shell::{Command, Role, Word};

/// Read-only whatever their arguments are.
const ALWAYS: &str = "ls cat tac nl head tail wc cut tr rev fold fmt paste join comm cmp diff echo \
    printf true false : test [ pwd cd pushd popd basename dirname realpath readlink stat seq \
    sleep expr grep egrep fgrep md5sum sha1sum sha256sum sha512sum cksum od hexdump strings \
    whoami id groups uname uptime df du free ps which type exit return break continue shift wait \
    set local export declare readonly typeset unset read let getconf nproc lscpu arch tty jq \
    lsblk pgrep column expand unexpand numfmt factor dirs times umask shopt";

/// Read-only unless one of these options is given, and with at most so many operands.
const UNLESS: &[(&str, &str, usize)] = &[
    ("find", "-delete -fprint -fprint0 -fprintf -fls -files0-from", usize::MAX),
    ("fd", "", usize::MAX),
    ("rg", "--pre --pre-glob --hostname-bin -z --search-zip", usize::MAX),
    ("sort", "-o --output --compress-program -T --temporary-directory", usize::MAX),
    ("uniq", "", 1),
    ("tree", "-o -R --output", usize::MAX),
    ("file", "-C --compile -z -Z", usize::MAX),
    ("date", "-s --set", usize::MAX),
    ("hostname", "-F --file -b --boot", 0),
    ("xxd", "-r -revert", 1),
    ("base64", "-o --output", usize::MAX),
    ("yq", "-i --inplace --in-place -s --split-exp", usize::MAX),
    ("awk", "-f -i -l -E --file --include --load --exec", usize::MAX),
];

/// Git subcommands that only read.
const GIT: &str = "status diff log show rev-parse ls-files ls-tree blame annotate describe \
    shortlog cat-file rev-list merge-base name-rev for-each-ref show-ref grep count-objects \
    check-ignore diff-tree diff-index diff-files whatchanged version cherry range-diff";
const GIT_OPTIONS: &str = "--output --ext-diff --textconv --open-files-in-pager -O --exec \
    --upload-pack --filters --paginate --show-signature";

/// Whether the command only reads.
pub(super) fn is_read_only(command: &Command) -> bool {
    let Some(name) = command.program() else {
        return command.words.is_empty();
    };
    let arguments = &command.words[1..];
    if let [only] = arguments
        && only.literal() == Some("--version")
        && !name.contains('/')
    {
        return true;
    }
    if matches!(command.role, Role::Opaque(_)) {
        return false;
    }
    let Some(base) = command.base() else { return false };
    if has(ALWAYS, base) {
        return true;
    }
    match base {
        "git" => git(arguments),
        "sed" => sed(arguments),
        "command" => matches!(arguments.first().and_then(Word::literal), Some("-v" | "-V")),
        _ => UNLESS.iter().find(|(known, ..)| *known == base).is_some_and(|(_, options, most)| {
            without(arguments, options)
                && arguments
                    .iter()
                    .filter(|w| w.literal().is_none_or(|t| !t.starts_with('-')))
                    .count()
                    <= *most
        }),
    }
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// Whether none of the options is among the arguments, and none can be.
fn without(arguments: &[Word], options: &str) -> bool {
    arguments.iter().all(|word| {
        let Some(text) = word.literal() else { return !word.may_be_option() };
        !options.split_ascii_whitespace().any(|option| {
            text == option
                || is_long(text, option)
                || option.len() == 2 && is_short(text) && text.contains(&option[1..])
        })
    })
}

fn git(arguments: &[Word]) -> bool {
    let literals: Option<Vec<&str>> = arguments.iter().map(Word::literal).collect();
    match literals.as_deref() {
        None => {
            let sub = arguments.first().and_then(Word::literal);
            sub.is_some_and(|sub| has(GIT, sub)) && without(&arguments[1..], GIT_OPTIONS)
        }
        Some(["branch", options @ ..]) => options.iter().all(|option| {
            matches!(*option, "-a" | "-r" | "-v" | "-vv" | "--list" | "--show-current" | "--all")
        }),
        Some(["remote"] | ["remote", "-v" | "show"] | ["remote", "get-url", _]) => true,
        Some(["tag"] | ["tag", "-l" | "--list", ..]) => without(&arguments[1..], "-d -f -a -s"),
        Some(["stash", "list" | "show"] | ["worktree", "list"] | ["reflog"] | ["--version"]) => {
            true
        }
        Some(["config", "--get" | "--get-all" | "--list" | "-l", rest @ ..]) => rest.len() < 2,
        Some([sub, ..]) => has(GIT, sub) && without(&arguments[1..], GIT_OPTIONS),
        Some([]) => true,
    }
}

/// `sed` with scripts that only print, delete and substitute.
fn sed(arguments: &[Word]) -> bool {
    let mut script_seen = false;
    let mut next_is_script = false;
    for word in arguments {
        let Some(text) = word.literal() else {
            if word.may_be_option() || !script_seen {
                return false;
            }
            continue;
        };
        if next_is_script || !script_seen && !text.starts_with('-') {
            if !is_plain_sed(text) {
                return false;
            }
            script_seen = true;
            next_is_script = false;
        } else if text == "-e" {
            next_is_script = true;
        } else if text.starts_with('-')
            && !matches!(text, "-n" | "-E" | "-r" | "-u" | "-z" | "-s" | "-nE" | "-En" | "-nr")
        {
            return false;
        }
    }
    script_seen
}

fn is_plain_sed(script: &str) -> bool {
    if script.chars().all(|c| c.is_ascii_digit() || "$,;pdq=~ !".contains(c)) {
        return true;
    }
    // `/x/p`, `/x/,/y/p`: addresses between slashes, without escapes.
    let mut outside = script.split('/').step_by(2);
    if script.starts_with('/')
        && !script.contains(['\\', '\n'])
        && script.matches('/').count().is_multiple_of(2)
    {
        return outside
            .all(|part| part.chars().all(|c| c.is_ascii_digit() || "$,;pdq= !".contains(c)));
    }
    let Some(rest) = script.strip_prefix('s') else { return false };
    let Some(delimiter) = rest.chars().next().filter(char::is_ascii_punctuation) else {
        return false;
    };
    let escaped = format!("\\{delimiter}");
    let body = rest[1..].replace("\\\\", "qq").replace(&escaped, "qq");
    let parts: Vec<&str> = body.split(delimiter).collect();
    parts.len() == 3
        && !script.contains('\n')
        && delimiter != '\\'
        && parts[2].chars().all(|c| c.is_ascii_digit() || "gpI".contains(c))
}
