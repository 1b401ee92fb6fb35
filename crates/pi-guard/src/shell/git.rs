//! Git: options before the subcommand, configuration that runs programs, and aliases.

use super::word::Word;

/// Subcommands that are git's own; any other name may be an alias or a program. Left out are those
/// that run helpers (`credential`) or leave jobs behind (`maintenance`).
const SUBCOMMANDS: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-ignore",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "difftool",
    "fetch",
    "filter-branch",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "gui",
    "hash-object",
    "help",
    "hook",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mergetool",
    "mv",
    "name-rev",
    "notes",
    "prune",
    "pull",
    "push",
    "range-diff",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "replace",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "update-ref",
    "var",
    "verify-commit",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

/// Configuration that cannot run anything. Everything else is taken to be able to.
const HARMLESS: &[&str] =
    &["user.name", "user.email", "core.quotepath", "init.defaultbranch", "commit.gpgsign"];

/// What a git command line comes down to.
pub(super) enum Git {
    /// It is written without options before the subcommand.
    Plain,
    /// The same without those options.
    Shortened(Vec<Word>),
    /// It may run something else, for this reason.
    Opaque(String),
}

pub(super) fn read(words: &[Word]) -> Git {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else {
            return Git::Opaque(format!("the git subcommand is not written out: {}", word.raw()));
        };
        let (name, value) = text.split_once('=').map_or((text, None), |(n, v)| (n, Some(v)));
        match name {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                at += usize::from(value.is_none() || name == "-C");
            }
            "-c" => {
                at += 1;
                let setting = words.get(at).and_then(Word::literal).unwrap_or("?");
                let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
                let harmless = HARMLESS.contains(&key.as_str())
                    || ["color.", "advice."].iter().any(|start| key.starts_with(start));
                if !harmless {
                    return Git::Opaque(format!("git -c {setting} may run a program"));
                }
            }
            "-P"
            | "--no-pager"
            | "--bare"
            | "--literal-pathspecs"
            | "--no-optional-locks"
            | "--no-replace-objects"
            | "--icase-pathspecs" => {}
            "-v" | "--version" | "-h" | "--help" if words.len() == 2 => return Git::Plain,
            _ if text.starts_with('-') => {
                return Git::Opaque(format!("git {text} may run a program"));
            }
            _ if !SUBCOMMANDS.contains(&text) => {
                return Git::Opaque(format!("git {text} may be an alias"));
            }
            _ if at == 1 => return Git::Plain,
            _ => {
                let mut short = vec![words[0].clone()];
                short.extend_from_slice(&words[at..]);
                return Git::Shortened(short);
            }
        }
        at += 1;
    }
    Git::Plain
}

/// An argument with which a subcommand runs a program that is not git's own.
pub(super) fn running(words: &[Word]) -> Option<&str> {
    const LONG: &[&str] = &[
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--extcmd",
        "--open-files-in-pager",
        "--template",
        "--config",
        "--tool",
        "--import-cmd",
        "--to-cmd",
        "--cc-cmd",
        "--sendmail-cmd",
    ];
    let literals = || words.iter().skip(1).filter_map(Word::literal);
    let sub = literals().find(|text| !text.starts_with('-'))?;
    let short: &[&str] = match sub {
        "grep" => &["-O"],
        "rebase" | "difftool" => &["-x"],
        "clone" => &["-u", "-c"],
        "mergetool" => &["-t"],
        _ => &[],
    };
    // `--exec x` and `-x x` are looked into, and so is what `foreach` and `run` are given.
    let read = |text: &str| {
        matches!(text, "-x" | "--exec" | "--extcmd")
            || text.starts_with("--exec=")
            || text.starts_with("--extcmd=")
    };
    literals().skip_while(|text| *text != sub).skip(1).find(|text| {
        let name = text.split('=').next().unwrap_or_default();
        // Other programs speak for these: `ext::sh -c x`.
        text.contains("ext::")
            || short.iter().any(|option| text.starts_with(option))
                && !(sub != "clone" && read(text))
            || name.len() > 3
                && LONG.iter().any(|option| option.starts_with(name))
                && !(matches!(sub, "rebase" | "difftool") && read(text))
    })
}

/// The scripts that a plain git command runs, and where the command it runs begins.
pub(super) fn runs(words: &[Word]) -> (Vec<Word>, Option<usize>) {
    let text = |at: usize| words.get(at).and_then(Word::literal);
    match (text(1), text(2)) {
        (Some("bisect"), Some("run")) => (vec![], Some(3)),
        (Some("submodule"), _) => {
            let each = words.iter().position(|w| w.literal() == Some("foreach"));
            // The words after its options are one script.
            let rest = each.map(|at| &words[at + 1..]).unwrap_or_default();
            let option = |w: &&Word| w.literal().is_some_and(|t| t.starts_with('-'));
            let script: Vec<&Word> = rest.iter().skip_while(option).collect();
            let literals: Option<Vec<&str>> = script.iter().map(|w| w.literal()).collect();
            let script = match literals {
                Some(texts) if texts.is_empty() => None,
                Some(texts) => Some(Word::plain(texts.join(" "))),
                None => script.into_iter().find(|w| w.literal().is_none()).cloned(),
            };
            (script.into_iter().collect(), None)
        }
        (Some("rebase" | "filter-branch" | "difftool" | "mergetool"), _) => {
            let mut scripts = Vec::new();
            for (at, word) in words.iter().enumerate().skip(2) {
                let Some(option) = word.literal() else { continue };
                if let Some((name, value)) = option.split_once('=')
                    && matches!(name, "--exec" | "--extcmd")
                {
                    scripts.push(Word::plain(value));
                }
                let takes = matches!(option, "-x" | "--exec" | "--extcmd")
                    || words[1].literal() == Some("filter-branch") && option.ends_with("-filter");
                scripts.extend(words.get(at + 1).filter(|_| takes).cloned());
            }
            (scripts, None)
        }
        _ => (vec![], None),
    }
}
