//! Recognizing in the output of a command that the sandbox denied something, so that the model and
//! the user know what to ask for.
//!
//! This is a guess: programs have different messages, and a failure may have other causes (an
//! ordinary file mode). So nothing is decided by it.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(unix)]
use super::RefusedHost;
use super::{Confined, ConfinementLevel, Mode, Network, roots};

/// An access of a command or a tool that the sandbox denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{rule}{target}")]
#[non_exhaustive]
pub struct Denial {
    /// The target of the access.
    #[serde(rename = "denied")]
    pub target: DenialTarget,
    /// The rule behind the denial, as a clause without a period.
    pub rule: String,
}

/// The target of a denied access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum DenialTarget {
    /// A file or directory.
    Path(PathBuf),
    /// A host, or the network if the host is unknown.
    Host(Option<String>),
    /// A forbidden program.
    Program(PathBuf),
    /// An operation on other processes or the system.
    Operation,
}

/// The target in parentheses, to follow the rule in a sentence.
impl fmt::Display for DenialTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) | Self::Program(path) => write!(f, " ({})", path.display()),
            Self::Host(Some(host)) => write!(f, " ({host})"),
            Self::Host(None) | Self::Operation => Ok(()),
        }
    }
}

#[cfg(unix)]
impl From<RefusedHost> for Denial {
    fn from(refused: RefusedHost) -> Self {
        Self { target: DenialTarget::Host(Some(refused.host)), rule: refused.reason }
    }
}

/// The origin of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// A command: it may have a private `/tmp`, and Landlock may deny more than the rules.
    Command,
    /// A tool in this process, to which only the rules apply.
    Tool,
}

/// Messages about files.
const FILE_MESSAGES: [&str; 4] = [
    "Permission denied",
    "Read-only file system",
    "Invalid cross-device link",
    // The message for a protected path that is a mount point.
    "Device or resource busy",
];
/// Messages about the network.
const NETWORK_MESSAGES: [&str; 7] = [
    "Could not resolve host",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Could not resolve hostname",
    "getaddrinfo EAI_AGAIN",
    "getaddrinfo ENOTFOUND",
];
/// Messages about a refusal of the proxy, which knows the host. The first is its own.
const PROXY_MESSAGES: [&str; 5] = [
    " is denied by the sandbox: ",
    "tunnel failed, response 403",
    "code 403 from proxy",
    "connection failed: 403",
    "proxy returned 403",
];
/// Messages about any target.
const GENERAL_MESSAGES: [&str; 4] =
    ["Operation not permitted", "EPERM", "PermissionError", "EACCES"];

/// Finds the last denial in the output of a failed command.
pub fn explain_denial(confined: &Confined, cwd: &Path, output: &str) -> Option<Denial> {
    if confined.level == ConfinementLevel::None {
        return None;
    }
    output.lines().rev().find_map(|line| explain_line(confined, cwd, line))
}

/// Most denials that are found in one output.
const MOST: usize = 10;

/// Finds the denials in the output of a failed command, each once.
pub fn explain_denials(confined: &Confined, cwd: &Path, output: &str) -> Vec<Denial> {
    let mut found: Vec<Denial> = Vec::new();
    if confined.level == ConfinementLevel::None {
        return found;
    }
    for denial in output.lines().filter_map(|line| explain_line(confined, cwd, line)) {
        if found.len() < MOST && !found.contains(&denial) {
            found.push(denial);
        }
    }
    found
}

fn explain_line(confined: &Confined, cwd: &Path, line: &str) -> Option<Denial> {
    let has = |messages: &[&str]| messages.iter().any(|message| line.contains(message));
    let network = &confined.confinement.network;
    let network_off = *network == Network::Off;
    if has(&NETWORK_MESSAGES) {
        let rule = match network {
            Network::Off => "the network is off",
            Network::Hosts(_) => "only allowed hosts can be reached, and only through the proxy",
            Network::On => return None,
        };
        return Some(Denial { target: DenialTarget::Host(host(line)), rule: rule.to_owned() });
    }
    if let (Network::Hosts(_), true) = (network, has(&PROXY_MESSAGES)) {
        // The message of the proxy itself names the host and the reason.
        let own = line.strip_prefix("pi: access to ");
        let own = own.and_then(|message| message.split_once(PROXY_MESSAGES[0]));
        let (host, rule) = match own {
            Some((host, reason)) => {
                (host.rsplit_once(':').map(|(host, _)| host.to_owned()), reason)
            }
            None => (None, "only allowed hosts can be reached"),
        };
        return Some(Denial { target: DenialTarget::Host(host), rule: rule.to_owned() });
    }
    if !has(&FILE_MESSAGES) && !has(&GENERAL_MESSAGES) {
        return None;
    }
    if let Some(program) = program(confined, cwd, line) {
        let rule = "the policy forbids this program".to_owned();
        return Some(Denial { target: DenialTarget::Program(program), rule });
    }
    if let Some(path) = path(line) {
        let path = normalize(&cwd.join(path));
        // A link may lead to another path.
        let real = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let mut paths = [Some(path.clone()), real(), path.canonicalize().ok()].into_iter();
        return paths.find_map(|path| {
            let rule = rule(confined, path.as_ref()?, Origin::Command)?;
            Some(Denial { target: DenialTarget::Path(path?), rule })
        });
    }
    if network_off && has(&["socket", "connect", "Socket"]) {
        let rule = "the network is off, and services of this machine are not accessible".to_owned();
        return Some(Denial { target: DenialTarget::Host(None), rule });
    }
    let rule = "other processes and the system are not accessible".to_owned();
    has(&["Operation not permitted"]).then_some(Denial { target: DenialTarget::Operation, rule })
}

/// Returns the forbidden program whose path or name is one of the words of the line.
fn program(confined: &Confined, cwd: &Path, line: &str) -> Option<PathBuf> {
    let programs = &confined.confinement.forbidden_programs;
    if programs.is_empty() {
        return None;
    }
    let around = |c: char| c.is_whitespace() || "'\"`‘’:,()[]".contains(c);
    line.split(around).filter(|word| !word.is_empty()).find_map(|word| {
        let path = cwd.join(word);
        let real = word.contains('/').then(|| std::fs::canonicalize(&path).unwrap_or(path));
        let same = |program: &&PathBuf| match &real {
            Some(real) => *program == real,
            None => program.file_name().is_some_and(|name| name == word),
        };
        programs.iter().find(same).cloned()
    })
}

/// Removes `.` and `..` from a path that need not exist.
fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

/// Returns the path in a message: quoted, a word with a slash, or the word before the reason.
fn path(line: &str) -> Option<&str> {
    for (open, close) in [('\'', '\''), ('"', '"'), ('‘', '’'), ('`', '`')] {
        let quoted = line.split_once(open).and_then(|(_, rest)| rest.split_once(close));
        if let Some((path, _)) = quoted.filter(|(path, _)| !path.is_empty()) {
            return Some(path);
        }
    }
    let trim = |word: &'_ str| -> usize { word.trim_end_matches([':', ',', ')']).len() };
    let words = line.split_whitespace().map(|word| &word[..trim(word)]);
    // The first word is the program that reports the error.
    let slash = words.skip(1).filter(|word| word.contains('/') && !word.contains("://")).last();
    slash.or_else(|| {
        let at =
            FILE_MESSAGES.iter().chain(&GENERAL_MESSAGES).find_map(|reason| line.find(reason))?;
        let before = line[..at].trim_end().strip_suffix(':')?;
        let (who, name) = before.rsplit_once(": ")?;
        let plain = !who.is_empty() && !name.contains(char::is_whitespace);
        plain.then_some(name)
    })
}

fn host(line: &str) -> Option<String> {
    let named = ["resolve host: ", "resolve host ", "hostname ", "ENOTFOUND ", "EAI_AGAIN "];
    let rest = named.iter().find_map(|before| line.split_once(before))?.1;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "-.".contains(c)));
    let host = &rest[..end.unwrap_or(rest.len())];
    (!host.is_empty()).then(|| host.to_owned())
}

/// Returns the rule that denies writing to a path, or none if the path can be written.
pub(super) fn rule(confined: &Confined, path: &Path, origin: Origin) -> Option<String> {
    let confinement = &confined.confinement;
    if is_hidden(confined, path) {
        return Some("this path is hidden".to_owned());
    }
    if confinement.mode == Mode::ReadOnly {
        return Some("the sandbox is read-only".to_owned());
    }
    let own_tmp = confined.level == ConfinementLevel::Bubblewrap && origin == Origin::Command;
    let temporary = confinement.private_tmp().is_some_and(|tmp| path.starts_with(tmp));
    if temporary || (own_tmp && confined.is_private_tmp(path)) {
        return None;
    }
    let roots = match (roots::plan(confinement), origin) {
        (Ok(roots), _) => roots,
        // The command did not run, so its output has another reason.
        (Err(_), Origin::Command) => return None,
        (Err(error), Origin::Tool) => return Some(error.to_string()),
    };
    let Some(root) = roots.iter().find(|root| path.starts_with(&root.path)) else {
        return Some("only the workspace and the writable roots can be written".to_owned());
    };
    let beside = confined.level == ConfinementLevel::Landlock && origin == Origin::Command;
    let restored = confined.restored_paths();
    for protected in root.protected() {
        if path.starts_with(protected) {
            return Some(format!("{} is protected", protected.display()));
        }
        if beside
            && !restored.contains(protected)
            && path.parent().is_some_and(|parent| protected.starts_with(parent))
        {
            return Some(format!(
                "with Landlock alone, nothing can be created beside {}, which is protected",
                protected.display()
            ));
        }
    }
    if origin == Origin::Tool && path.strip_prefix(&root.path).is_ok_and(is_run_by_git) {
        return Some("git runs programs because of this file".to_owned());
    }
    None
}

/// Returns true for the files of a repository in any directory that decide what `git` runs: what
/// commands leave there is examined after they end, what tools write is not.
fn is_run_by_git(path: &Path) -> bool {
    let mut names = path.iter().skip_while(|name| *name != ".git").skip(1).peekable();
    if path.ends_with(".git") {
        return true;
    }
    names.any(|name| {
        ["config", "config.worktree", "commondir", "hooks"].iter().any(|own| name == *own)
    })
}

/// Returns true if a path cannot be read.
pub(super) fn is_hidden(confined: &Confined, path: &Path) -> bool {
    confined.confinement.hidden.iter().any(|hidden| path.starts_with(hidden))
}
