//! Commands that are known to read only, with the options that would make them do more.

use super::rule::{is_long, is_short};
use crate::shell::{Command, Role, Word};

/// Read-only whatever their arguments are.
const ALWAYS: &str = "ls cat tac nl head tail wc cut tr rev fold fmt paste join comm cmp diff echo \
    printf true false : test [ pwd cd pushd popd basename dirname realpath readlink stat seq \
    sleep expr grep egrep fgrep md5sum sha1sum sha256sum sha512sum cksum od hexdump strings \
    whoami id groups uname uptime df du free ps which type exit return break continue shift wait \
    set local export declare readonly typeset unset read let getconf nproc lscpu arch tty jq \
    lsblk pgrep column expand unexpand numfmt factor dirs times umask shopt bc mapfile readarray \
    getopts jobs caller readelf netstat whereis cal ncal zcat bzcat xzcat zgrep \
    b2sum sha224sum sha384sum sum pidof tput locale getent w who vmstat tsort look pr hash";

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
    ("shuf", "-o --output", usize::MAX),
    ("ss", "-K --kill", usize::MAX),
    ("gofmt", "-w -cpuprofile", usize::MAX),
    ("shellcheck", "", usize::MAX),
    ("nm", "--plugin", usize::MAX),
    ("size", "--plugin", usize::MAX),
    ("objdump", "--plugin", usize::MAX),
    ("lsof", "-D", usize::MAX),
    ("hostname", "-F --file -b --boot", 0),
    ("xxd", "-r -revert", 1),
    ("base64", "-o --output", usize::MAX),
    ("yq", "-i --inplace --in-place -s --split-exp", usize::MAX),
    ("awk", "-f -i -l -E --file --include --load --exec", usize::MAX),
];

/// How else programs are asked for their version.
const VERSION: &[(&str, &str)] = &[
    ("python python3 cargo rustc rustup ssh pip pip3", "-V"),
    ("rustc", "-vV"),
    ("node npm pnpm yarn ruby", "-v"),
    ("go", "version"),
    ("java", "-version"),
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
        && only.literal().is_some_and(|text| {
            matches!(text, "--version" | "--help")
                || VERSION.iter().any(|(programs, option)| text == *option && has(programs, name))
        })
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
        // Those that can do more, called so that they do not.
        "docker" | "podman" | "kubectl" | "systemctl" | "crontab" => true,
        "npm" | "pnpm" => {
            matches!(arguments.first().and_then(Word::literal), Some("ls" | "list"))
                && without(arguments, "--prefix -C --dir")
        }
        "pip" | "pip3" => {
            matches!(arguments.first().and_then(Word::literal), Some("list" | "show" | "freeze"))
                && without(arguments, "--python --log --outdated -o")
        }
        "tar" => lists_archive(arguments),
        // With a number it sets the clock.
        "date"
            if arguments.iter().any(|w| {
                w.literal().is_some_and(|t| {
                    t.len() > 7 && t.chars().all(|c| c.is_ascii_digit() || c == '.')
                })
            }) =>
        {
            false
        }
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

/// `"${a},${b}p"`: a script that begins with the number of a line, as is known already.
fn is_address(word: &Word) -> bool {
    let raw = word.raw();
    raw.starts_with("\"$") && raw.ends_with("p\"") && raw.trim_matches('"').len() > 3
}

/// `tar tf x`, which writes nothing; that it starts nothing is known already.
fn lists_archive(arguments: &[Word]) -> bool {
    let first = arguments.first().and_then(Word::literal).unwrap_or_default();
    first.trim_start_matches('-').chars().all(|c| "tvfzjJ".contains(c))
        && first.contains('t')
        && arguments[1..].iter().all(|w| w.literal().is_some_and(|t| !t.starts_with('-')))
}

fn has(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// Whether none of the options is among the arguments, and none can be.
fn without(arguments: &[Word], options: &str) -> bool {
    // After `--` there are only operands.
    let end = arguments.iter().position(|word| word.literal() == Some("--"));
    arguments[..end.unwrap_or(arguments.len())].iter().all(|word| {
        let text = match word {
            Word::Literal { text, .. } => text.as_str(),
            // `--author="$x"`: which option it is, is known.
            Word::Unknown { prefix, many: false, .. }
                if prefix.starts_with("--") && prefix.contains('=') =>
            {
                prefix.as_str()
            }
            Word::Unknown { .. } => return !word.may_be_option(),
        };
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
        // With one of these, the rest are commits and patterns.
        Some(
            ["branch", "--list" | "-l" | "--merged" | "--no-merged" | "--contains", rest @ ..],
        ) => rest.iter().all(|word| !word.starts_with('-')),
        Some(["branch", options @ ..]) => options.iter().all(|option| {
            matches!(
                *option,
                "-a" | "-r" | "-v" | "-vv" | "-av" | "-avv" | "--list" | "--show-current" | "--all"
            ) || option.starts_with("--sort=")
                || option.starts_with("--format=")
        }),
        Some(["remote"] | ["remote", "-v" | "show"] | ["remote", "get-url", _]) => true,
        Some(["submodule" | "lfs", "status"] | ["bisect", "log"] | ["var", _]) => true,
        Some(["reflog", "show", ..] | ["check-attr", ..]) => true,
        Some(["stash", "show", rest @ ..]) => rest.iter().all(|w| !w.starts_with("--")),
        Some(["clean", options @ ..]) => {
            let dry =
                |o: &&&str| matches!(**o, "-n" | "--dry-run" | "-nd" | "-dn" | "-ndx" | "-ndX");
            options.iter().any(|o| dry(&o))
                && options.iter().all(|o| dry(&o) || matches!(*o, "-d" | "-x"))
        }
        Some(["tag"] | ["tag", "-l" | "--list", ..]) => without(&arguments[1..], "-d -f -a -s"),
        Some(["stash", "list"] | ["worktree", "list"] | ["reflog"] | ["--version"]) => true,
        Some(["config", "--get" | "--get-all" | "--list" | "-l" | "get", rest @ ..]) => {
            rest.len() < 2
        }
        // Without a value it prints the one there is.
        Some(["config", rest @ ..]) => {
            let rest = match rest {
                ["--global" | "--local" | "--system", rest @ ..] => rest,
                rest => rest,
            };
            match rest {
                ["--get" | "--get-all" | "--list" | "-l", rest @ ..] => rest.len() < 2,
                [key] => key.contains('.') && !key.starts_with('-'),
                _ => false,
            }
        }
        Some([sub, ..]) => has(GIT, sub) && without(&arguments[1..], GIT_OPTIONS),
        Some([]) => true,
    }
}

/// `sed` that writes nothing: whether its script could is known already.
fn sed(arguments: &[Word]) -> bool {
    arguments.iter().all(|word| match word.literal() {
        Some(text) if text.starts_with("--") => {
            matches!(text, "--quiet" | "--silent" | "--regexp-extended" | "--null-data" | "--debug")
                || text.starts_with("--expression=")
        }
        // What follows `-e` in the same word is its script.
        Some(text) if text.starts_with('-') && text.len() > 1 => {
            let letters = text.split('e').next().unwrap_or_default();
            letters.chars().skip(1).all(|c| "nErsuz".contains(c))
        }
        Some(_) => true,
        None => !word.may_be_option() || is_address(word),
    })
}
