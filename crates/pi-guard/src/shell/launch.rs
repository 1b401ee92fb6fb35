//! Commands that start commands: what a wrapper, a shell, `find` or `git` runs is a command too.

use super::git::{self, Git};
use super::nodes::RESERVED;
use super::programs;
use super::uncertainty::Uncertainty;
use super::variables::{self, Set};
use super::word::Word;
use super::wrappers::{self, Inner};
use super::{Analysis, Assignment, Command, Role, builtins, script_into, sed};

/// Adds a command and everything it starts.
pub(super) fn push(mut command: Command, analysis: &mut Analysis, through: &[String]) {
    command.through = through.to_vec();
    let program = command.base().map(str::to_owned);
    for assignment in &command.assignments {
        let set = variables::check(assignment, program.as_deref());
        match set {
            Set::Harmless => {}
            Set::Runs(text) => script_into(&text, analysis, through),
            Set::Powerful => analysis.note(Uncertainty::Variable(assignment.name.clone())),
        }
        analysis.evaluation.assign(&assignment.name, &assignment.value);
    }
    let Some(word) = command.words.first() else {
        analysis.commands.push(command);
        return;
    };
    let Some(base) = command.base().map(str::to_owned) else {
        analysis.note(Uncertainty::Program(word.raw().to_owned()));
        analysis.commands.push(command);
        return;
    };
    // After `time`, which the grammar takes for a program, these are what they are elsewhere.
    if RESERVED.contains(&base.as_str()) || word.raw().contains('=') {
        analysis.note(Uncertainty::Construct(format!("`{base}`")));
    }
    if through.len() >= super::MAX_SCRIPTS {
        analysis.note(Uncertainty::TooDeep);
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
    if base == "trap"
        && let Some(role) = trap(words, analysis, &inside)
    {
        return role;
    }
    if wrappers::RUN_TEXT.contains(&base) {
        analysis.note(Uncertainty::RunsText(base.to_owned()));
        let texts: Option<Vec<&str>> = words[1..].iter().map(Word::literal).collect();
        if let Some(texts) = texts.filter(|_| base == "eval" || base == "trap") {
            script_into(&texts.join(" "), analysis, &inside);
        }
        return Role::Plain;
    }
    match base {
        "alias" | "unalias" | "hash" if words.len() > 1 => {
            analysis.note(Uncertainty::Renames(words[1].raw().to_owned()));
            Role::Plain
        }
        "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "printf" | "mapfile"
        | "readarray" | "getopts" | "let" | "unset" | "wait" | "test" | "[" | "set" | "shopt" => {
            builtins::check(base, words, analysis);
            Role::Plain
        }
        "find" | "fd" | "fdfind" => find(base, words, analysis, &inside),
        "git" => git_runs(words, analysis, &inside),
        // `git-push` is a program like `git push`, in a folder of git's.
        _ if base.starts_with("git-") => {
            let sub = base.strip_prefix("git-").unwrap_or_default();
            let short = [Word::plain("git"), Word::plain(sub)].into_iter();
            let short: Vec<Word> = short.chain(words[1..].iter().cloned()).collect();
            inner(&short, vec![], analysis, &inside)
        }
        "watch" => watch(words, analysis, &inside),
        _ if base.starts_with("ld-linux") || base.starts_with("ld.so") => {
            inner(words.get(1..).unwrap_or_default(), vec![], analysis, &inside)
        }
        _ if programs::is_interpreter(base) => {
            Role::Opaque(format!("{base} runs code in another language"))
        }
        _ if programs::runs_by_other_word(base, words) => {
            Role::Opaque(format!("what {base} runs is not in the command"))
        }
        "awk" | "gawk" | "mawk" | "nawk" => awk(words),
        "sed" | "gsed" => match sed::may_run(words) {
            Err(sed::MayRun) => {
                Role::Opaque("this sed script may run programs or write files".to_owned())
            }
            Ok(numbers) => {
                for word in numbers {
                    if !analysis.evaluation.evaluate(word.raw()) {
                        analysis.note(Uncertainty::Hidden);
                    }
                }
                Role::Plain
            }
        },
        _ => by_option(base, words, analysis),
    }
}

/// `trap` with a script that is written out, which is judged like any other.
fn trap(words: &[Word], analysis: &mut Analysis, inside: &[String]) -> Option<Role> {
    let texts: Vec<&str> = words[1..].iter().map(Word::literal).collect::<Option<_>>()?;
    let texts = texts.strip_prefix(&["--"]).unwrap_or(&texts);
    let (script, signals) = texts.split_first()?;
    let names = |text: &&str| text.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
    if signals.is_empty() || !signals.iter().all(names) || script.starts_with('-') && *script != "-"
    {
        return None;
    }
    if *script != "-" {
        script_into(script, analysis, inside);
    }
    Some(Role::Starts)
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
    if wrapper.name == "flock"
        && words.iter().any(|w| w.literal().is_none_or(|t| t == "-c" || t.starts_with("--c")))
    {
        analysis.note(Uncertainty::RunsText("flock -c".to_owned()));
    }
    match wrapper.inner(words) {
        Inner::Nothing => {
            if wrapper.name == "exec" && !analysis.commands[at].redirects.is_empty() {
                analysis.note(Uncertainty::Construct("exec with redirections".to_owned()));
            }
            Role::Plain
        }
        Inner::Unclear(what) => {
            analysis.note(Uncertainty::Starter(what));
            Role::Plain
        }
        Inner::At(start, assigned) => {
            let assignments = assigned.iter().filter_map(|at| assignment(&words[*at])).collect();
            let mut started = words[start..].to_vec();
            if wrapper.name == "xargs" {
                started = replaced(&words[1..start], started);
                started.push(Word::unknown("…", "arguments from standard input"));
            }
            inner(&started, assignments, analysis, inside)
        }
    }
}

/// The words of a command in which `xargs` puts what it reads, with options such as `-I{}`.
fn replaced(options: &[Word], words: Vec<Word>) -> Vec<Word> {
    let mut signs = Vec::new();
    for (at, option) in options.iter().enumerate() {
        let Some(text) = option.literal() else { continue };
        let next = || options.get(at + 1).and_then(Word::literal);
        if let Some(long) = text.strip_prefix("--") {
            if "replace".starts_with(long.split('=').next().unwrap_or_default()) {
                signs.push(long.split_once('=').map_or("{}", |(_, sign)| sign));
            }
        } else if let Some((_, sign)) = text.split_once('i') {
            signs.push(if sign.is_empty() { "{}" } else { sign });
        }
        // `-0I{}`, and `-J` of other systems.
        if !text.starts_with("--")
            && let Some((_, sign)) = text.split_once(['I', 'J'])
        {
            signs.extend(if sign.is_empty() { next() } else { Some(sign) });
        }
    }
    let holds = |word: &Word| {
        word.literal().is_some_and(|t| signs.iter().any(|s| !s.is_empty() && t.contains(s)))
    };
    let read = |word: Word| if holds(&word) { from_input(&word, &signs) } else { word };
    words.into_iter().map(read).collect()
}

/// A word with something in it that is read from standard input.
fn from_input(word: &Word, signs: &[&str]) -> Word {
    let text = word.literal().unwrap_or_default();
    let known = signs.iter().filter_map(|sign| text.find(sign)).min().unwrap_or(0);
    Word::Unknown {
        raw: word.raw().to_owned(),
        prefix: text.get(..known).unwrap_or_default().to_owned(),
        many: false,
        why: "arguments from standard input",
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
            "-o" | "+o" | "-O" | "+O" => at += 1,
            "--rcfile" | "--init-file" => break,
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
                        analysis.note(Uncertainty::RunsText(base.to_owned()));
                        return Role::Plain;
                    };
                    // Some shells of this name take `$'x'` for a `$` and an `x`.
                    let quotes = matches!(base, "sh" | "dash" | "ash") && script.contains("$'");
                    if quotes || matches!(base, "fish" | "zsh" | "csh" | "tcsh") {
                        analysis.note(Uncertainty::Construct(format!("the language of {base}")));
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
    analysis.note(Uncertainty::RunsText(base.to_owned()));
    Role::Plain
}

fn find(base: &str, words: &[Word], analysis: &mut Analysis, inside: &[String]) -> Role {
    let starts: &[&str] = if base == "find" {
        &["-exec", "-execdir", "-ok", "-okdir"]
    } else {
        &["-x", "--exec", "-X", "--exec-batch"]
    };
    for (at, word) in words.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        if !starts.contains(&text) {
            let bunched =
                text.starts_with('-') && !text.starts_with("--") && text.contains(['x', 'X']);
            if base != "find" && (bunched || text.starts_with("--exec")) {
                analysis.note(Uncertainty::Starter(format!("{base} {text}")));
            }
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
    if let Some(option) = git::running(words) {
        analysis.note(Uncertainty::Starter(format!("git {option}")));
    }
    match git::read(words) {
        Git::Opaque(why) => return Role::Opaque(why),
        Git::Shortened(short) => return inner(&short, vec![], analysis, inside),
        Git::Plain => {}
    }
    let (scripts, command) = git::runs(words);
    for script in &scripts {
        match script.literal() {
            Some(text) => script_into(text, analysis, inside),
            None => analysis.note(Uncertainty::RunsText("git".to_owned())),
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
            analysis.note(Uncertainty::RunsText("watch".to_owned()));
            Role::Plain
        }
    }
}

/// Programs that run others only if an option or a subcommand says so.
fn by_option(base: &str, words: &[Word], analysis: &mut Analysis) -> Role {
    let literals: Vec<&str> = words.iter().skip(1).filter_map(Word::literal).collect();
    match programs::running_option(base, &literals) {
        Some(option) if option.starts_with('-') => {
            analysis.note(Uncertainty::Starter(format!("{base} {option}")));
            Role::Plain
        }
        Some(sub) => Role::Opaque(format!("{base} {sub} runs what packages say")),
        None if matches!(base, "npm" | "pnpm" | "yarn" | "cargo" | "go") => packages(base, words),
        None => Role::Plain,
    }
}

fn packages(base: &str, words: &[Word]) -> Role {
    let runs = ["run", "exec", "x", "dlx", "test", "start", "run-script", "t", "generate", "tool"];
    let opaque = |what: &str| Role::Opaque(format!("{base} {what} runs what a file says"));
    // What cargo runs is the project itself, which is what people ask for; the rest of its
    // subcommands may be anybody's programs, but only those that are installed.
    if base == "cargo" {
        return Role::Plain;
    }
    let Some(first) = words.get(1) else {
        return if base == "yarn" { opaque("install") } else { Role::Plain };
    };
    let options = first.may_be_option();
    let sub = words[1..].iter().find(|w| !w.may_be_option()).and_then(Word::literal);
    match sub.unwrap_or_default() {
        sub if runs.contains(&sub) && !(base == "go" && sub == "test") => opaque(sub),
        // For these, any other name may be that of a script.
        sub if matches!(base, "pnpm" | "yarn") => {
            let own = "list ls why outdated info audit config licenses view help version versions \
                publish pack login logout whoami owner tag store cache remove prune npm";
            if !options && own.split_ascii_whitespace().any(|known| known == sub) {
                Role::Plain
            } else {
                opaque(first.raw())
            }
        }
        _ => Role::Plain,
    }
}

fn awk(words: &[Word]) -> Role {
    let may_run = |text: &str| {
        let text = text.replace(">=", "").replace("||", "");
        // Outside of braces these compare, or are part of a pattern.
        let blocks = text.split_once('{').map_or("", |(_, blocks)| blocks);
        ["system", "getline", "@"].iter().any(|part| text.contains(part))
            || blocks.contains('|')
            || blocks.contains('>') && !only_compares(blocks)
            || ["-f", "-i", "-l", "-E", "-D", "-o", "-p", "-d", "--"]
                .iter()
                .any(|option| text.starts_with(option))
    };
    let harmless = words[1..].iter().all(|word| match word {
        Word::Literal { text, .. } => !may_run(text),
        // A file, if the program came before it.
        Word::Unknown { .. } => !word.may_be_option() && words[1].literal().is_some(),
    });
    if harmless { Role::Plain } else { Role::Opaque("awk may run programs".to_owned()) }
}

/// Whether every `>` in awk's actions is between parentheses, where it compares.
fn only_compares(actions: &str) -> bool {
    // Where a string or a pattern begins and ends is not looked at: then nothing is known.
    if actions.contains(['"', '/', '\\']) {
        return false;
    }
    let mut depth = 0_usize;
    actions.chars().all(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '>' => return depth > 0,
            _ => {}
        }
        true
    })
}

/// A variable is set that may decide what runs.
pub(super) fn check_variable(name: &str, analysis: &mut Analysis) {
    if variables::is_powerful(name.split(['[', '=', '+']).next().unwrap_or(name)) {
        analysis.note(Uncertainty::Variable(name.to_owned()));
    }
}
