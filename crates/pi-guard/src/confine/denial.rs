//! Recognising in what a command said that it was denied something, so that model and user know
//! what to ask for.
//!
//! A guess from words: programs say it in their own way, and a refusal may have other reasons
//! (an ordinary file mode). So this never decides anything.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

#[cfg(unix)]
use super::RefusedHost;
use super::{Confined, ConfinementLevel, Mode, Network, roots};

/// Something a command, or a tool in its place, was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{rule}{target}")]
pub struct Denial {
    /// What.
    #[serde(rename = "denied")]
    pub target: DenialTarget,
    /// Which rule, as a sentence.
    pub rule: String,
}

/// What was denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DenialTarget {
    /// A file.
    Path(PathBuf),
    /// A host, or the network as a whole if no host was named.
    Host(Option<String>),
    /// A program that may not be run.
    Program(PathBuf),
    /// Something about other processes or the system.
    Operation,
}

/// What comes after the rule in a sentence.
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

/// Who wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// A command: it may have a `/tmp` of its own, and what holds it may hold more than the rules.
    Command,
    /// A tool in this process, which knows the rules only.
    Tool,
}

const OF_FILES: [&str; 4] = [
    "Permission denied",
    "Read-only file system",
    "Invalid cross-device link",
    // A protected path is a mount point.
    "Device or resource busy",
];
const OF_THE_NETWORK: [&str; 7] = [
    "Could not resolve host",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Could not resolve hostname",
    "getaddrinfo EAI_AGAIN",
    "getaddrinfo ENOTFOUND",
];
/// How programs say that the proxy said no; which host, the proxy knows.
const OF_THE_PROXY: [&str; 5] = [
    "cannot be reached from here: ",
    "tunnel failed, response 403",
    "code 403 from proxy",
    "connection failed: 403",
    "proxy returned 403",
];
const OF_ANYTHING: [&str; 4] = ["Operation not permitted", "EPERM", "PermissionError", "EACCES"];

/// Finds the last denial in the output of a command that failed. Nothing if nothing looks like it.
pub fn explain_denial(confined: &Confined, cwd: &Path, output: &str) -> Option<Denial> {
    if confined.level == ConfinementLevel::None {
        return None;
    }
    output.lines().rev().find_map(|line| explain_line(confined, cwd, line))
}

fn explain_line(confined: &Confined, cwd: &Path, line: &str) -> Option<Denial> {
    let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
    let network = &confined.confinement.network;
    let network_off = *network == Network::Off;
    if says(&OF_THE_NETWORK) {
        let rule = match network {
            Network::Off => "the network is off",
            Network::Hosts(_) => "only named hosts can be reached, and only through the proxy",
            Network::On => return None,
        };
        return Some(Denial { target: DenialTarget::Host(host(line)), rule: rule.to_owned() });
    }
    if let (Network::Hosts(_), true) = (network, says(&OF_THE_PROXY)) {
        // Our own words name it.
        let words = line.strip_prefix("pi: ").unwrap_or_default();
        let named = words.split_once(OF_THE_PROXY[0]).map(|(named, why)| (named.trim_end(), why));
        let host = named.and_then(|(named, _)| Some(named.rsplit_once(':')?.0.to_owned()));
        let rule = named.map_or("only named hosts can be reached", |(_, why)| why).to_owned();
        return Some(Denial { target: DenialTarget::Host(host), rule });
    }
    if !says(&OF_FILES) && !says(&OF_ANYTHING) {
        return None;
    }
    if let Some(program) = program(confined, cwd, line) {
        let rule = "this program is forbidden by policy".to_owned();
        return Some(Denial { target: DenialTarget::Program(program), rule });
    }
    if let Some(path) = path(line) {
        let path = plain(&cwd.join(path));
        // A link may have led out of what is allowed.
        let really = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
        let mut places = [Some(path.clone()), really(), path.canonicalize().ok()].into_iter();
        return places.find_map(|path| {
            let rule = rule(confined, path.as_ref()?, By::Command)?;
            Some(Denial { target: DenialTarget::Path(path?), rule })
        });
    }
    if network_off && says(&["socket", "connect", "Socket"]) {
        let rule = "the network is off, and services of this machine cannot be reached".to_owned();
        return Some(Denial { target: DenialTarget::Host(None), rule });
    }
    let rule = "other processes and the system are out of reach".to_owned();
    says(&["Operation not permitted"]).then_some(Denial { target: DenialTarget::Operation, rule })
}

/// The forbidden program a refusal is about: one of its words is that program's path or name.
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

/// The path without `.` and `..`, as text: what was denied need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The path a message is about: quoted, or a word with a slash, or the word before the reason.
fn path(line: &str) -> Option<&str> {
    for (open, close) in [('\'', '\''), ('"', '"'), ('‘', '’'), ('`', '`')] {
        let quoted = line.split_once(open).and_then(|(_, rest)| rest.split_once(close));
        if let Some((path, _)) = quoted.filter(|(path, _)| !path.is_empty()) {
            return Some(path);
        }
    }
    let trim = |word: &'_ str| -> usize { word.trim_end_matches([':', ',', ')']).len() };
    let words = line.split_whitespace().map(|word| &word[..trim(word)]);
    // Not the program that speaks, which comes first.
    let slash = words.skip(1).filter(|word| word.contains('/') && !word.contains("://")).last();
    slash.or_else(|| {
        let at = OF_FILES.iter().chain(&OF_ANYTHING).find_map(|reason| line.find(reason))?;
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

/// The rule that keeps this path from being written; none if it can be written.
pub(super) fn rule(confined: &Confined, path: &Path, by: By) -> Option<String> {
    let confinement = &confined.confinement;
    if is_hidden(confined, path) {
        return Some("this path is hidden".to_owned());
    }
    if confinement.mode == Mode::ReadOnly {
        return Some("nothing can be written (mode read-only)".to_owned());
    }
    let own_tmp = confined.level == ConfinementLevel::Bubblewrap && by == By::Command;
    let temporary = confinement.private_tmp().is_some_and(|tmp| path.starts_with(tmp));
    if temporary || (own_tmp && confinement.is_private_tmp(path)) {
        return None;
    }
    let roots = match (roots::plan(confinement), by) {
        (Ok(roots), _) => roots,
        // A command would have said something else: it was not run at all.
        (Err(_), By::Command) => return None,
        (Err(error), By::Tool) => return Some(error.to_string()),
    };
    let Some(root) = roots.iter().find(|root| path.starts_with(&root.path)) else {
        return Some("only the workspace and named roots can be written".to_owned());
    };
    let protected = root.present.iter().chain(&root.missing).chain(&root.absent);
    let beside = confined.level == ConfinementLevel::Landlock && by == By::Command;
    for kept in protected {
        if path.starts_with(kept) {
            return Some(format!("{} is protected", kept.display()));
        }
        if beside && path.parent().is_some_and(|to| kept.starts_with(to)) {
            return Some(format!(
                "nothing can be created beside {}, which is protected (only Landlock holds here)",
                kept.display()
            ));
        }
    }
    None
}

/// Whether this path is among those that cannot even be read.
pub(super) fn is_hidden(confined: &Confined, path: &Path) -> bool {
    confined.confinement.hidden.iter().any(|hidden| path.starts_with(hidden))
}
