//! Programs that start another program given in their arguments, as data.

use super::word::Word;

/// How a program that starts another one is called.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options with a value.
    values: &'static str,
    /// Long options; those with a value end in `=`, those that may have one in `?`.
    long: &'static [&'static str],
    /// Operands before the program.
    operands: usize,
    /// Whether `NAME=value` may stand before the program.
    assigns: bool,
}

const fn wrapper(name: &'static str, flags: &'static str, values: &'static str) -> Wrapper {
    Wrapper { name, flags, values, long: &[], operands: 0, assigns: false }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        long: &["ignore-environment", "null", "unset=", "chdir=", "argv0=", "debug"],
        assigns: true,
        ..wrapper("env", "i0v", "uCa")
    },
    Wrapper {
        long: &[
            "user=",
            "group=",
            "host=",
            "prompt=",
            "login",
            "preserve-env",
            "set-home",
            "non-interactive",
            "stdin",
            "background",
            "reset-timestamp",
            "chdir=",
        ],
        assigns: true,
        ..wrapper("sudo", "ABbEHiknPSs", "ugpChTrtRDU")
    },
    wrapper("doas", "nLs", "uC"),
    wrapper("pkexec", "", ""),
    wrapper("nohup", "", ""),
    Wrapper {
        long: &["signal=", "kill-after=", "foreground", "preserve-status", "verbose"],
        operands: 1,
        ..wrapper("timeout", "fpv", "ks")
    },
    Wrapper { long: &["adjustment="], ..wrapper("nice", "0123456789", "n") },
    Wrapper { long: &["class=", "classdata=", "ignore"], ..wrapper("ionice", "t", "cn") },
    Wrapper { long: &["input=", "output=", "error="], ..wrapper("stdbuf", "", "ioe") },
    Wrapper {
        long: &["portability", "verbose", "quiet", "append", "format=", "output="],
        ..wrapper("time", "pvqa", "fo")
    },
    wrapper("command", "p", ""),
    wrapper("builtin", "", ""),
    wrapper("exec", "cl", "a"),
    Wrapper { long: &["ctty", "fork", "wait"], ..wrapper("setsid", "cfw", "") },
    Wrapper {
        long: &[
            "null",
            "arg-file=",
            "delimiter=",
            "max-args=",
            "max-procs=",
            "max-lines?",
            "max-chars=",
            "replace?",
            "eof?",
            "no-run-if-empty",
            "verbose",
            "exit",
            "interactive",
            "open-tty",
        ],
        ..wrapper("xargs", "0rtpxo", "adEILnPsR")
    },
    wrapper("busybox", "", ""),
    wrapper("toybox", "", ""),
    wrapper("catchsegv", "", ""),
    wrapper("unbuffer", "p", ""),
    wrapper("caffeinate", "dimsu", "tw"),
    wrapper("strace", "fcqrtTvxyk", "eopPsSuaEIObX"),
    wrapper("ltrace", "fcSrtT", "elonpsu"),
    Wrapper { operands: 1, ..wrapper("taskset", "ac", "") },
    Wrapper { operands: 1, ..wrapper("chrt", "bfioraRv", "") },
    Wrapper { operands: 1, ..wrapper("chroot", "", "") },
    Wrapper { operands: 1, ..wrapper("faketime", "m", "f") },
    Wrapper { operands: 1, ..wrapper("flock", "ensuxoFv", "wE") },
    wrapper("torsocks", "", ""),
    wrapper("proxychains4", "q", "f"),
];

/// Programs that run text which they get as arguments, or change what names mean.
pub(super) const RUN_TEXT: &[&str] =
    &["eval", "source", ".", "trap", "bind", "enable", "complete", "compgen", "fc", "history"];

/// Shells; `-c` is followed by a script.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh", "yash"];

/// Builtins that people rely on. A function with such a name is a trap.
const BUILTINS: &[&str] = &[
    "cd", "echo", "printf", "test", "[", "true", "false", ":", "pwd", "read", "export", "set",
    "unset", "shift", "return", "exit", "local", "declare", "type", "wait", "kill", "ls", "cat",
    "grep", "find", "git", "rm", "cp", "mv", "head", "tail", "wc", "sort", "sed", "awk", "which",
];

pub(super) fn find(base: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == base)
}

/// Whether a function of this name would change what the analysis relies on.
pub(super) fn is_meaningful(name: &str) -> bool {
    find(name).is_some() || [RUN_TEXT, SHELLS, BUILTINS].iter().any(|names| names.contains(&name))
}

/// What a wrapper starts.
#[derive(Debug)]
pub(super) enum Inner {
    /// Nothing: it acts by itself.
    Nothing,
    /// The command that begins at this word; the words listed before it are assignments.
    At(usize, Vec<usize>),
    /// It cannot be told, because of this word.
    Unclear(String),
}

impl Wrapper {
    /// Finds the command in `words`, of which the first is the wrapper.
    pub(super) fn inner(&self, words: &[Word]) -> Inner {
        let mut at = 1;
        let mut operands = self.operands;
        let mut assignments = Vec::new();
        let mut options = true;
        while let Some(word) = words.get(at) {
            let Some(text) = word.literal() else { return Inner::Unclear(word.raw().to_owned()) };
            if options && text == "--" {
                options = false;
            // To `env` this is `-i`.
            } else if options && text == "-" && self.name == "env" {
            } else if options && text.len() > 1 && text.starts_with('-') {
                match self.option(text) {
                    Some(takes_next) => at += usize::from(takes_next),
                    None => return Inner::Unclear(format!("{} {text}", self.name)),
                }
            // `env` sets any name, also those that the shell would not.
            } else if self.assigns && text.contains('=') {
                options = false;
                assignments.push(at);
            } else if operands > 0 {
                operands -= 1;
            } else {
                return Inner::At(at, assignments);
            }
            at += 1;
        }
        Inner::Nothing
    }

    /// Whether the option takes the next word; `None` if the option is not known.
    fn option(&self, text: &str) -> Option<bool> {
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            if let Some(known) = self.long.iter().find(|l| l.trim_end_matches(['=', '?']) == name) {
                return Some(known.ends_with('=') && value.is_none());
            }
            return None;
        }
        let letters = text.strip_prefix('-')?;
        for (index, letter) in letters.char_indices() {
            if self.values.contains(letter) {
                return Some(index + letter.len_utf8() == letters.len());
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(false)
    }
}
