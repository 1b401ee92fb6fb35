//! Commands that start commands: what a wrapper, a shell, `find` or `git` runs is a command too.

use super::doubt::Doubt;
use super::git::{self, Git};
use super::word::Word;
use super::wrappers::{self, Inner};
use super::{Analysis, Assignment, Command, Role, script_into};

/// Variables that decide what runs, or how text is read.
const POWERFUL: &[&str] = &[
    "PATH",
    "IFS",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "PS0",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "RUSTC_WRAPPER",
    "RUSTC",
    "MAKEFLAGS",
    "GCONV_PATH",
    "HOSTALIASES",
    "TERMINFO",
    "SHELL",
    "HOME",
    "ZDOTDIR",
    "HISTFILE",
    "FPATH",
    "CC",
    "CXX",
    "LD",
    "AR",
    "TAR_OPTIONS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "XDG_CONFIG_HOME",
    "RIPGREP_CONFIG_PATH",
    "GREP_OPTIONS",
];
const POWERFUL_STARTS: &[&str] =
    &["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "npm_config_", "CARGO_", "PIP_"];

/// Interpreters of other languages, with the options that are followed by code.
const INTERPRETERS: &[&str] = &[
    "python",
    "python2",
    "python3",
    "pypy",
    "pypy3",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "osascript",
    "Rscript",
    "ghci",
    "irb",
    "ipython",
    "expect",
    "gdb",
    "lldb",
    "vim",
    "vi",
    "nvim",
    "ex",
    "ed",
    "emacs",
    "m4",
    "bc",
    "pwsh",
];

/// Programs that run what a file of the project, or another machine, says.
const BY_OTHER_WORD: &[&str] = &[
    "make",
    "gmake",
    "ninja",
    "just",
    "task",
    "rake",
    "ant",
    "mvn",
    "gradle",
    "bazel",
    "cmake",
    "ssh",
    "mosh",
    "rsh",
    "npx",
    "bunx",
    "pnpx",
    "uvx",
    "pipx",
    "docker",
    "podman",
    "kubectl",
    "nerdctl",
    "lxc",
    "vagrant",
    "systemd-run",
    "at",
    "batch",
    "crontab",
    "tmux",
    "screen",
    "script",
    "su",
    "runuser",
    "unshare",
    "nsenter",
    "bwrap",
    "firejail",
    "setpriv",
    "capsh",
    "parallel",
    "entr",
    "watchexec",
    "inotifywait",
    "socat",
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "nix-shell",
    "nix",
    "guix",
    "poetry",
    "pipenv",
    "uv",
    "rlwrap",
    "start-stop-daemon",
    "run-parts",
    "dbus-send",
    "busctl",
    "gawk",
    "mawk",
    "ansible",
    "terraform",
    "scp",
    "sftp",
    "rsync",
    "tar",
];

/// Adds a command and everything it starts.
pub(super) fn push(mut command: Command, analysis: &mut Analysis, through: &[String]) {
    command.through = through.to_vec();
    for assignment in &command.assignments {
        check_variable(&assignment.name, analysis);
    }
    let Some(word) = command.words.first() else {
        analysis.commands.push(command);
        return;
    };
    let Some(base) = command.base().map(str::to_owned) else {
        analysis.doubt(Doubt::Program(word.raw().to_owned()));
        analysis.commands.push(command);
        return;
    };
    if through.len() >= super::MAX_SCRIPTS {
        analysis.doubt(Doubt::TooDeep);
        analysis.commands.push(command);
        return;
    }
    let words = command.words.clone();
    let at = analysis.commands.len();
    analysis.commands.push(command);
    let role = start(&base, &words, at, analysis, through);
    analysis.commands[at].role = role;
}

fn start(
    base: &str,
    words: &[Word],
    at: usize,
    analysis: &mut Analysis,
    through: &[String],
) -> Role {
    let inside: Vec<String> =
        through.iter().cloned().chain(std::iter::once(base.to_owned())).collect();
    if let Some(wrapper) = wrappers::find(base) {
        return wrapped(wrapper, words, at, analysis, &inside);
    }
    if wrappers::SHELLS.contains(&base) {
        return shell(base, words, analysis, &inside);
    }
    if wrappers::RUN_TEXT.contains(&base) {
        analysis.doubt(Doubt::RunsText(base.to_owned()));
        let texts: Option<Vec<&str>> = words[1..].iter().map(Word::literal).collect();
        if let Some(texts) = texts.filter(|_| base == "eval" || base == "trap") {
            script_into(&texts.join(" "), analysis, &inside);
        }
        return Role::Plain;
    }
    match base {
        "alias" | "unalias" | "hash" if words.len() > 1 => {
            analysis.doubt(Doubt::Renames(words[1].raw().to_owned()));
            Role::Plain
        }
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "printf" | "mapfile"
        | "readarray" | "getopts" | "let" | "unset" => {
            for word in &words[1..] {
                let text = word.literal().unwrap_or_default();
                check_variable(text.split(['=', '[']).next().unwrap_or_default(), analysis);
                if base == "mapfile" && text.starts_with("-C") {
                    analysis.doubt(Doubt::RunsText("mapfile -C".to_owned()));
                }
            }
            Role::Plain
        }
        "find" | "fd" | "fdfind" => find(base, words, analysis, &inside),
        "git" => git_runs(words, analysis, &inside),
        "watch" => watch(words, analysis, &inside),
        _ if base.starts_with("ld-linux") || base.starts_with("ld.so") => {
            inner(words.get(1..).unwrap_or_default(), vec![], analysis, &inside)
        }
        _ if is_interpreter(base) => Role::Opaque(format!("{base} runs code in another language")),
        _ if BY_OTHER_WORD.contains(&base) => {
            Role::Opaque(format!("what {base} runs is not in the command"))
        }
        "npm" | "pnpm" | "yarn" | "cargo" | "go" => packages(base, words),
        "awk" => awk(words),
        _ => Role::Plain,
    }
}

fn wrapped(
    wrapper: &wrappers::Wrapper,
    words: &[Word],
    at: usize,
    analysis: &mut Analysis,
    inside: &[String],
) -> Role {
    // `command -v x` only looks x up.
    let first = words.get(1).and_then(Word::literal);
    if wrapper.name == "command" && matches!(first, Some("-v" | "-V")) {
        return Role::Plain;
    }
    match wrapper.inner(words) {
        Inner::Nothing => {
            if wrapper.name == "exec" && !analysis.commands[at].redirects.is_empty() {
                analysis.doubt(Doubt::Construct("exec with redirections".to_owned()));
            }
            Role::Plain
        }
        Inner::Unclear(what) => {
            analysis.doubt(Doubt::Starter(what));
            Role::Plain
        }
        Inner::At(start, assigned) => {
            let assignments = assigned.iter().filter_map(|at| assignment(&words[*at])).collect();
            let mut started = words[start..].to_vec();
            if wrapper.name == "xargs" {
                started.push(Word::unknown("…", "arguments from standard input"));
            }
            inner(&started, assignments, analysis, inside)
        }
    }
}

fn assignment(word: &Word) -> Option<Assignment> {
    let (name, value) = word.literal()?.split_once('=')?;
    Some(Assignment { name: name.to_owned(), value: Word::plain(value) })
}

/// Adds the command that is started, and says that the starter does nothing else.
fn inner(
    words: &[Word],
    assignments: Vec<Assignment>,
    analysis: &mut Analysis,
    inside: &[String],
) -> Role {
    if words.is_empty() {
        return Role::Plain;
    }
    push(Command { words: words.to_vec(), assignments, ..Command::default() }, analysis, inside);
    Role::Starts
}

fn shell(base: &str, words: &[Word], analysis: &mut Analysis, inside: &[String]) -> Role {
    let mut at = 1;
    while let Some(text) = words.get(at).and_then(Word::literal) {
        match text {
            "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file" => at += 1,
            "--" | "--login" | "--norc" | "--noprofile" | "--posix" => {}
            "--version" | "--help" if words.len() == 2 => return Role::Plain,
            _ if text.starts_with("--") => break,
            _ if text.starts_with(['-', '+']) && text.len() > 1 => {
                if text.contains('c') {
                    // Options may still follow: `bash -c -e script`.
                    let rest = words.get(at + 1..).unwrap_or_default();
                    let script = rest.iter().find(|word| {
                        word.literal().is_none_or(|t| !t.starts_with('-') && !t.starts_with('+'))
                    });
                    let Some(script) = script.and_then(Word::literal) else {
                        analysis.doubt(Doubt::RunsText(base.to_owned()));
                        return Role::Plain;
                    };
                    if base == "fish" || base.ends_with("csh") {
                        analysis.doubt(Doubt::Construct(format!("the language of {base}")));
                    }
                    script_into(script, analysis, inside);
                    return Role::Starts;
                }
                if text.contains('s') && !text.starts_with('+') {
                    break;
                }
            }
            _ => return Role::Opaque(format!("{base} runs the script {text}")),
        }
        at += 1;
    }
    analysis.doubt(Doubt::RunsText(base.to_owned()));
    Role::Plain
}

fn find(base: &str, words: &[Word], analysis: &mut Analysis, inside: &[String]) -> Role {
    let starts: &[&str] = if base == "find" {
        &["-exec", "-execdir", "-ok", "-okdir"]
    } else {
        &["-x", "--exec", "-X", "--exec-batch"]
    };
    for (at, word) in words.iter().enumerate() {
        if !word.literal().is_some_and(|text| starts.contains(&text)) {
            continue;
        }
        let rest = &words[at + 1..];
        let end = rest.iter().position(|w| matches!(w.literal(), Some(";" | "+")));
        let started: Vec<Word> = rest[..end.unwrap_or(rest.len())]
            .iter()
            .map(|word| match word.literal() {
                Some(text) if text.contains('{') => Word::Unknown {
                    raw: word.raw().to_owned(),
                    prefix: if text == "{}" { "./".into() } else { String::new() },
                    many: false,
                    why: "a file that is found",
                },
                _ => word.clone(),
            })
            .collect();
        inner(&started, vec![], analysis, inside);
    }
    Role::Plain
}

fn git_runs(words: &[Word], analysis: &mut Analysis, inside: &[String]) -> Role {
    match git::read(words) {
        Git::Opaque(why) => return Role::Opaque(why),
        Git::Shortened(short) => return inner(&short, vec![], analysis, inside),
        Git::Plain => {}
    }
    let (scripts, command) = git::runs(words);
    for script in &scripts {
        match script.literal() {
            Some(text) => script_into(text, analysis, inside),
            None => analysis.doubt(Doubt::RunsText("git".to_owned())),
        }
    }
    if let Some(start) = command {
        inner(words.get(start..).unwrap_or_default(), vec![], analysis, inside);
    }
    Role::Plain
}

/// `watch` joins its operands to a script.
fn watch(words: &[Word], analysis: &mut Analysis, inside: &[String]) -> Role {
    let mut at = 1;
    while let Some(text) = words.get(at).and_then(Word::literal) {
        match text {
            "-n" | "--interval" => at += 1,
            _ if text.starts_with('-') => {}
            _ => break,
        }
        at += 1;
    }
    let rest: Option<Vec<&str>> = words[at.min(words.len())..].iter().map(Word::literal).collect();
    match rest {
        Some(script) if !script.is_empty() => {
            script_into(&script.join(" "), analysis, inside);
            Role::Starts
        }
        _ => {
            analysis.doubt(Doubt::RunsText("watch".to_owned()));
            Role::Plain
        }
    }
}

fn is_interpreter(base: &str) -> bool {
    // `python3.12` is python.
    let name = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INTERPRETERS.contains(&base) || INTERPRETERS.contains(&name)
}

fn packages(base: &str, words: &[Word]) -> Role {
    let runs = ["run", "exec", "x", "dlx", "test", "start", "run-script", "t", "generate", "tool"];
    let mut plain = words[1..].iter().filter(|w| !w.may_be_option());
    match plain.next().and_then(Word::literal) {
        // What cargo runs is the project itself, which is what people ask for; the rest of its
        // subcommands may be anybody's programs, but only those that are installed.
        _ if base == "cargo" => Role::Plain,
        Some(sub) if runs.contains(&sub) && !(base == "go" && sub == "test") => {
            Role::Opaque(format!("{base} {sub} runs what a file of the project says"))
        }
        _ => Role::Plain,
    }
}

fn awk(words: &[Word]) -> Role {
    let may_run = |text: &str| {
        ["system", "|", ">", "getline", "@"].iter().any(|part| text.contains(part))
            || text.starts_with("-f")
            || text.starts_with("--")
    };
    let harmless = words[1..].iter().all(|word| word.literal().is_some_and(|text| !may_run(text)));
    if harmless { Role::Plain } else { Role::Opaque("awk may run programs".to_owned()) }
}

fn check_variable(name: &str, analysis: &mut Analysis) {
    let powerful =
        POWERFUL.contains(&name) || POWERFUL_STARTS.iter().any(|start| name.starts_with(start));
    if powerful {
        analysis.doubt(Doubt::Variable(name.to_owned()));
    }
}
