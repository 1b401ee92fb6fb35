//! The files and programs that the commands of a room use, as the watch of the sandbox reports them.
//!
//! A trace says on what the result of a command can depend. It is no wall: a command that wants to
//! hide what it reads finds a way. The first command in a room is the user's, on the state of the
//! user, and has no reason to.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_base::lock;
use serde::{Deserialize, Serialize};

/// Most paths of each kind. A command that uses more is not worth more memory.
const MOST: usize = 200_000;

/// Programs that run the first file among their arguments, without version numbers.
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "dash",
    "ash",
    "busybox",
    "zsh",
    "ksh",
    "fish",
    "python",
    "pypy",
    "node",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "perl",
    "ruby",
    "php",
    "lua",
    "luajit",
    "rscript",
    "pwsh",
    "tclsh",
    "awk",
    "gawk",
    "mawk",
    "julia",
    "elixir",
    "escript",
    "osascript",
];

/// Programs that run files that they read.
const READERS: &[&str] = &["sh", "bash", "dash", "ash", "busybox", "zsh", "ksh", "fish", "make"];

/// Programs that only start others.
const STARTERS: &[&str] = &[
    "make", "gmake", "just", "task", "env", "timeout", "nice", "nohup", "time", "xargs", "setsid",
    "stdbuf", "sudo", "npm", "npx", "pnpm", "yarn", "bunx", "uv", "uvx", "poetry", "pipenv",
    "hatch", "pdm", "bwrap", "find", "parallel",
];

/// Extensions of files that shells and make run when they read them. Everything else that they read
/// is input.
const SCRIPTS: &[&str] =
    &["sh", "bash", "zsh", "ksh", "fish", "inc", "env", "mk", "mak", "make", "rc", "conf"];

/// The files and programs that commands used. Paths of the room are relative to it, with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Trace {
    /// Files of the room that were opened for reading, and directories that were listed. The room
    /// itself is the empty path.
    pub read: BTreeSet<String>,
    /// Programs and scripts of the room that the commands started: themselves, through shells and
    /// build tools, or through other such scripts. What a test runner starts is not among them.
    pub executed: BTreeSet<String>,
    /// Paths of the room that were looked for and did not exist.
    pub missing: BTreeSet<String>,
    /// Paths of the room that exist and were looked for, such as those that a command tests.
    pub looked_at: BTreeSet<String>,
    /// Files outside of the room that were read.
    pub outside: BTreeSet<PathBuf>,
    /// The reason why nothing was watched.
    pub problem: Option<String>,
}

impl Trace {
    /// Adds what another command used.
    pub fn extend(&mut self, other: Self) {
        self.read.extend(other.read);
        self.executed.extend(other.executed);
        self.missing.extend(other.missing);
        self.looked_at.extend(other.looked_at);
        self.outside.extend(other.outside);
        self.problem = self.problem.take().or(other.problem);
    }
}

/// Collects a trace while commands run.
#[derive(Debug, Clone)]
pub struct Tracing {
    /// The room as commands find it.
    seen_at: PathBuf,
    /// The room outside of the sandbox.
    directory: PathBuf,
    state: Arc<Mutex<State>>,
}

/// Two plans that trace are the same plan only if they share the trace.
impl PartialEq for Tracing {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

impl Eq for Tracing {}

#[derive(Debug, Default)]
struct State {
    /// Paths as they were reported, each of which is examined once.
    looked_at: HashSet<PathBuf>,
    opened: HashSet<PathBuf>,
    /// The processes that became a program, and whether what they start belongs to the commands.
    processes: HashMap<u32, bool>,
    trace: Trace,
}

impl Tracing {
    /// Creates an empty trace of a room: its path as commands find it, and its directory.
    #[must_use]
    pub fn new(seen_at: &Path, directory: &Path) -> Self {
        let (seen_at, directory) = (seen_at.to_owned(), directory.to_owned());
        Self { seen_at, directory, state: Arc::default() }
    }

    /// Returns what was traced since the last call.
    pub fn take(&self) -> Trace {
        std::mem::take(&mut *lock(&self.state)).trace
    }

    /// Notes that a process looks for a file, or opens it. `program` returns the name of the
    /// program that the process runs.
    pub fn note_file(
        &self,
        path: PathBuf,
        is_read: bool,
        program: impl FnOnce() -> Option<String>,
    ) {
        let state = &mut *lock(&self.state);
        let known = if is_read { &state.opened } else { &state.looked_at };
        if known.contains(&path) || known.len() >= MOST {
            return;
        }
        let inside = self.inside(&path);
        let trace = &mut state.trace;
        match inside {
            Some(inside) if !self.exists(&inside) => {
                trace.missing.insert(inside);
            }
            Some(inside) if is_read => {
                let extension = inside.rsplit_once('.').map_or("", |(_, extension)| extension);
                let is_run = SCRIPTS.contains(&extension)
                    && program().is_some_and(|program| is_one_of(&program, READERS));
                if is_run && self.is_file(&inside) {
                    trace.executed.insert(inside.clone());
                }
                trace.read.insert(inside);
            }
            Some(inside) => {
                trace.looked_at.insert(inside);
            }
            None if is_read && !normal(&path).starts_with(&self.seen_at) => {
                trace.outside.insert(normal(&path));
            }
            None => {}
        }
        if is_read {
            state.opened.insert(path);
        } else {
            state.looked_at.insert(path);
        }
    }

    /// Notes that a process becomes a program. `lineage` has the number of the process and those of
    /// its parents.
    pub fn note_program(&self, path: &Path, cwd: &Path, arguments: &[String], lineage: &[u32]) {
        let is_file = |path: &String| self.is_file(path);
        let mut executed: BTreeSet<String> =
            self.inside(path).filter(is_file).into_iter().collect();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if is_one_of(name, INTERPRETERS) {
            let script = script(arguments).into_iter().map(|script| cwd.join(script));
            executed.extend(script.filter_map(|script| self.inside(&script)).filter(is_file));
        }
        let is_starter = is_one_of(name, READERS) || is_one_of(name, STARTERS) || is_npm(arguments);
        let state = &mut *lock(&self.state);
        let mut parents = lineage.iter().skip(1);
        // The first process of a command has no known parent.
        let belongs =
            parents.find_map(|parent| state.processes.get(parent)).copied().unwrap_or(true);
        if let Some(process) = lineage.first() {
            let starts = belongs && (is_starter || !executed.is_empty());
            state.processes.insert(*process, starts);
        }
        if belongs {
            state.trace.executed.extend(executed);
        }
    }

    /// Returns the path of a file in the room, unless it is in the repository. The room itself has
    /// an empty path.
    fn inside(&self, path: &Path) -> Option<String> {
        let path = normal(path);
        let inside = path.strip_prefix(&self.seen_at).ok()?.to_str()?;
        let is_git = inside == ".git" || inside.starts_with(".git/");
        (!is_git).then(|| inside.to_owned())
    }

    fn exists(&self, inside: &str) -> bool {
        self.directory.join(inside).symlink_metadata().is_ok()
    }

    fn is_file(&self, inside: &String) -> bool {
        self.directory.join(inside).is_file()
    }
}

/// Returns a path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// Returns true if a program has one of these names, apart from its version.
fn is_one_of(program: &str, names: &[&str]) -> bool {
    let name = program.to_ascii_lowercase();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    names.contains(&name)
}

/// Returns true for the package managers that are scripts of Node.
fn is_npm(arguments: &[String]) -> bool {
    let managers = ["npm", "npx", "yarn", "pnpm"];
    arguments.iter().take(2).any(|argument| {
        let first = argument.split(' ').next().unwrap_or(argument);
        let name = first.rsplit('/').next().unwrap_or(first);
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        managers.contains(&stem.trim_end_matches("-cli"))
    })
}

/// Returns the files that an interpreter may run: its first argument that is no option, and the
/// module after `-m`.
fn script(arguments: &[String]) -> Vec<String> {
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-m" => {
                let module = rest.next().map(|module| module.replace('.', "/"));
                return module
                    .map(|module| vec![format!("{module}.py"), format!("{module}/__main__.py")])
                    .unwrap_or_default();
            }
            "-c" => return Vec::new(),
            option if option.starts_with('-') => {}
            // The value of an option may come before the script.
            file => return std::iter::once(file.to_owned()).chain(rest.next().cloned()).collect(),
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_among_arguments() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["python3", "scripts/a.py", "x"], &["scripts/a.py", "x"]),
            (&["sh", "-e", "check.sh"], &["check.sh"]),
            (&["python3", "-W", "error", "a.py"], &["error", "a.py"]),
            (&["python3", "-m", "tools.accept"], &["tools/accept.py", "tools/accept/__main__.py"]),
            (&["sh", "-c", "a.sh"], &[]),
            (&["node"], &[]),
        ];
        for (arguments, expected) in cases {
            let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(script(&arguments), *expected, "{arguments:?}");
        }
    }

    #[test]
    fn a_trace_has_what_was_read_run_and_missed() {
        let room = tempfile::tempdir().unwrap();
        for name in ["data.txt", "run.py", "next.py", "lib.sh", "tool"] {
            std::fs::write(room.path().join(name), "").unwrap();
        }
        let at = Path::new("/work/project");
        let tracing = Tracing::new(at, room.path());
        let file = |path: &str, is_read, program: &str| {
            tracing.note_file(at.join(path), is_read, || Some(program.to_owned()));
        };
        file("data.txt", true, "python3.11");
        file("sub/../lib.sh", true, "dash");
        file("conftest.py", false, "python3.11");
        file("tool", false, "python3.11");
        file("data.txt", true, "bash");
        file(".git/config", true, "git");
        file("/usr/lib/a.py", true, "python3.11");
        let start = |program: &str, arguments: &[&str], lineage: &[u32]| {
            let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
            tracing.note_program(Path::new(program), at, &arguments, lineage);
        };
        start("/bin/sh", &["sh", "-c", "python3 run.py"], &[10, 9]);
        start("/usr/bin/python3.11", &["python3", "run.py", "data"], &[11, 10, 9]);
        start("/usr/bin/python3", &["python3", "next.py"], &[12, 11, 10, 9]);
        start("/usr/bin/python3", &["python3", "-m", "pytest"], &[13, 10, 9]);
        // A shell that the tests start, and their program.
        start("/bin/sh", &["sh", "-c", "./tool"], &[14, 13, 10, 9]);
        start("/work/project/tool", &["./tool"], &[15, 14, 13, 10, 9]);
        let trace = tracing.take();
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(trace.read, set(&["data.txt", "lib.sh"]));
        assert_eq!(trace.executed, set(&["lib.sh", "next.py", "run.py"]));
        assert_eq!(trace.missing, set(&["conftest.py"]));
        assert_eq!(trace.looked_at, set(&["tool"]));
        assert_eq!(trace.outside, BTreeSet::from([PathBuf::from("/usr/lib/a.py")]));
    }
}
