//! The files that a command starts or loads, as far as its text and the text of its scripts show
//! them. This is no wall: commands of hooks run in the sandbox, where nothing is gained by files
//! that are not found. It keeps a hook from being disabled.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use pi_guard::confine::links_on_the_way;
use pi_guard::shell::{self, RedirectAccess};

use crate::Environment;

/// Most scripts of one command that are read, and most bytes of each.
const MOST_SCRIPTS: usize = 64;
const MOST_READ: u64 = 256 * 1024;
/// Most paths that are looked for in one script.
const MOST_LOOKS: usize = 20_000;
/// Most directories that the words of a command are relative to.
const MOST_DIRECTORIES: usize = 8;
/// Most parts of a path at which a known path may begin.
const MOST_PARTS: usize = 3;

/// Extensions of files that other scripts load. A file that can be executed needs none.
const SCRIPTS: &[&str] = &[
    "bash", "cjs", "cts", "js", "jsx", "ksh", "lua", "mjs", "mts", "php", "pl", "pm", "py", "rb",
    "sh", "ts", "tsx", "zsh",
];

/// Words on a line that loads a module by a name without a slash.
const LOADS: &[&str] = &["import", "from", "require", "source", "use", "load"];

/// Finds files below the directories that the sandbox can write.
#[derive(Debug)]
pub(super) struct Reach {
    /// Real paths of the directories.
    roots: Vec<PathBuf>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    search: Option<String>,
}

/// The files of a command or path.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Paths of the files, with links.
    pub(super) files: BTreeSet<PathBuf>,
    /// Real paths of files, of the directories of scripts, and of directories with links.
    pub(super) protected: BTreeSet<PathBuf>,
    /// Links on the way to the files.
    pub(super) links: BTreeSet<PathBuf>,
}

impl Reach {
    pub(super) fn new(roots: Vec<PathBuf>, environment: &Environment) -> Self {
        Self {
            roots,
            cwd: environment.cwd.clone(),
            home: environment.home.clone(),
            search: environment.variable("PATH").map(str::to_owned),
        }
    }

    /// Returns the files that a command for the shell names, and what its scripts load.
    pub(super) fn of_command(&self, command: &str) -> Found {
        let mut found = Found::default();
        let mut scripts = Vec::new();
        let text = self.with_directories(command);
        let commands = shell::analyze(&text).commands;
        let bases = self.directories_of(&commands);
        for command in &commands {
            let words = literals(command);
            let operand = words.iter().skip(1).position(|word| !word.starts_with('-'));
            for (at, word) in words.iter().enumerate() {
                // The program, or the script that an interpreter runs.
                let is_script = at == 0 || operand.is_some_and(|operand| at == operand + 1);
                let paths = match at {
                    0 if !word.contains('/') => self.program(word).into_iter().collect(),
                    _ => self.paths(word, &bases),
                };
                let added = paths.iter().filter_map(|path| self.add(path, &mut found));
                scripts.extend(added.filter(|real| is_script && (at == 0 || is_code(real))));
            }
            let read = command.redirects.iter();
            let read = read.filter(|redirect| redirect.access == RedirectAccess::Read);
            for word in read.filter_map(|redirect| redirect.target.literal()) {
                for path in self.paths(word, &bases) {
                    self.add(&path, &mut found);
                }
            }
        }
        // Options with a value, variables, and what the analysis does not understand.
        for token in tokens(&text).filter(|token| token.contains('/')) {
            for path in self.paths(token, &bases) {
                self.add(&path, &mut found);
            }
        }
        for script in &scripts {
            self.protect_directory(script, &mut found);
        }
        self.follow(scripts, &mut found);
        found
    }

    /// Returns the files of a program of which pi knows the path: its directory, and what its text
    /// names.
    pub(super) fn of_program(&self, path: &Path) -> Found {
        let mut found = self.of_path(path);
        if let Some(real) = self.add(path, &mut found) {
            self.protect_directory(&real, &mut found);
            self.follow(vec![real], &mut found);
        }
        found
    }

    /// Returns a file or directory that pi reads.
    pub(super) fn of_path(&self, path: &Path) -> Found {
        let mut found = Found::default();
        self.add(path, &mut found);
        let real = fs::canonicalize(path).ok().filter(|real| real.is_dir());
        if real.is_some() {
            let links = links_on_the_way(path).into_iter();
            found.links.extend(links.filter(|link| self.is_inside(link)));
        }
        let real = real.filter(|real| self.is_inside(real) && !self.is_needed(real));
        found.protected.extend(real);
        found
    }

    /// Returns the text with the directories that hooks know as variables.
    fn with_directories(&self, text: &str) -> String {
        let mut text = text.to_owned();
        let (cwd, home) = (Some(&self.cwd), self.home.as_ref());
        for (name, value) in
            [("PI_PROJECT_DIR", cwd), ("CLAUDE_PROJECT_DIR", cwd), ("PWD", cwd), ("HOME", home)]
        {
            if let Some(value) = value.and_then(|value| value.to_str()) {
                text = text.replace(&format!("${{{name}}}"), value);
                text = text.replace(&format!("${name}"), value);
            }
        }
        text
    }

    /// Returns the directories to which words of commands may be relative: the working directory, and
    /// those that the commands name (`cd scripts && ./check.sh`).
    fn directories_of(&self, commands: &[shell::Command]) -> Vec<PathBuf> {
        let mut bases = vec![self.cwd.clone()];
        for word in commands.iter().flat_map(literals) {
            let named = self.paths(word, &bases).into_iter();
            let named: Vec<PathBuf> = named.filter(|path| path.is_dir()).collect();
            bases.extend(named);
            bases.truncate(MOST_DIRECTORIES);
        }
        bases
    }

    /// Returns the paths that a word may mean.
    fn paths(&self, word: &str, bases: &[PathBuf]) -> Vec<PathBuf> {
        match (word.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => vec![home.join(rest)],
            _ if word.starts_with('/') => vec![word.into()],
            _ => bases.iter().map(|base| base.join(word)).collect(),
        }
    }

    /// Returns the file of a program that the shell searches.
    fn program(&self, name: &str) -> Option<PathBuf> {
        pi_fs::find_program(name, Some(&self.cwd), self.search.as_deref().map(OsStr::new))
    }

    /// Adds a file, and the links that lead to it, as far as they are in a writable directory.
    /// Returns its real path if it is.
    fn add(&self, path: &Path, found: &mut Found) -> Option<PathBuf> {
        let real = fs::canonicalize(path).ok().filter(|real| real.is_file())?;
        // A change in one of these directories can lead the path elsewhere.
        let links = links_on_the_way(path);
        found.links.extend(links.iter().filter(|link| self.is_inside(link)).cloned());
        let links: Vec<&Path> = links.iter().filter_map(|link| link.parent()).collect();
        let is_inside = self.is_inside(&real);
        if !is_inside && !links.iter().any(|link| self.is_inside(link)) {
            return None;
        }
        found.files.insert(path.to_owned());
        let held = links.into_iter().filter(|link| self.is_inside(link) && !self.is_needed(link));
        found.protected.extend(held.map(Path::to_owned));
        if !is_inside {
            return None;
        }
        found.protected.insert(real.clone());
        Some(real)
    }

    /// Protects the directory of a script: a file that is put beside it could be loaded instead of
    /// another one.
    fn protect_directory(&self, script: &Path, found: &mut Found) {
        let directory = script.parent().filter(|directory| !self.is_needed(directory));
        found.protected.extend(directory.map(Path::to_owned));
    }

    /// Adds the scripts that scripts name, and so on.
    fn follow(&self, mut scripts: Vec<PathBuf>, found: &mut Found) {
        let mut seen: BTreeSet<PathBuf> = scripts.iter().cloned().collect();
        while let Some(script) = scripts.pop() {
            if seen.len() > MOST_SCRIPTS {
                return;
            }
            for path in self.named_in(&script) {
                // Most names are of no file.
                if !path.is_file() || !is_code(&path) {
                    continue;
                }
                let added = self.add(&path, found);
                scripts.extend(added.filter(|real| seen.insert(real.clone())));
            }
        }
    }

    /// Returns the paths that a script may mean: its tokens, from its directory and from the working
    /// directory, and as names of modules.
    fn named_in(&self, script: &Path) -> Vec<PathBuf> {
        let Some(text) = text_of(script) else { return Vec::new() };
        let text = self.with_directories(&text);
        let bases = [script.parent().unwrap_or(&self.cwd), &self.cwd];
        let own = script.extension().and_then(OsStr::to_str);
        let mut paths = Vec::new();
        for line in text.lines() {
            let loads = tokens(line).any(|token| LOADS.contains(&token));
            for token in tokens(line).filter(|token| token.len() < 256) {
                // The beginning may be a variable or the end of a substitution.
                let rests = token.match_indices('/').take(MOST_PARTS).map(|(at, _)| &token[at..]);
                let rests = rests.map(|rest| rest.trim_start_matches('/'));
                let mut names: Vec<String> = rests.map(str::to_owned).collect();
                names.push(token.trim_start_matches('/').to_owned());
                if loads || token.contains('/') {
                    names.extend(names.clone().iter().flat_map(|name| modules(name, own)));
                }
                paths.extend(token.starts_with('/').then(|| PathBuf::from(token)));
                for name in names {
                    paths.extend(bases.iter().map(|base| base.join(&name)));
                }
                if paths.len() > MOST_LOOKS {
                    return paths;
                }
            }
        }
        paths
    }

    /// Returns true if a text is a path in one of the directories, or contains one.
    pub(super) fn mentions(&self, text: &str) -> bool {
        let named = |root: &PathBuf| root.to_str().is_some_and(|root| text.contains(root));
        let is_path = text.starts_with('/');
        self.roots.iter().chain([&self.cwd]).any(named)
            || is_path && fs::canonicalize(text).is_ok_and(|real| self.is_inside(&real))
    }

    fn is_inside(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| real.starts_with(root))
    }

    /// Returns true for a directory in which the agent works as a whole, or that contains it.
    fn is_needed(&self, directory: &Path) -> bool {
        self.roots.iter().any(|root| root.starts_with(directory))
    }
}

/// Returns the files that a module of this name may be, for a script with this extension.
fn modules(name: &str, own: Option<&str>) -> Vec<String> {
    let module = name.trim_start_matches("./").trim_matches('.').replace('.', "/");
    let mut files = vec![format!("{module}/__init__.py")];
    // TypeScript imports a file by the name that it would have after compilation.
    for (of_output, of_source) in [("js", "ts"), ("js", "tsx"), ("mjs", "mts"), ("cjs", "cts")] {
        let stem = name.strip_suffix(of_output).and_then(|stem| stem.strip_suffix('.'));
        files.extend(stem.map(|stem| format!("{stem}.{of_source}")));
    }
    for extension in own.into_iter().chain(["js", "ts", "py"]) {
        files.push(format!("{name}.{extension}"));
        files.push(format!("{name}/index.{extension}"));
        files.push(format!("{module}.{extension}"));
    }
    files
}

/// Returns the words of a command that its text determines.
fn literals(command: &shell::Command) -> Vec<&str> {
    command.words.iter().filter_map(shell::Word::literal).collect()
}

/// Returns the words of a text that may be paths.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "/._-+@~".contains(c);
    text.split(move |c| !is_part(c)).filter(|token| token.contains(char::is_alphanumeric))
}

/// Returns the beginning of a file as text; `None` for a program.
fn text_of(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(MOST_READ).read_to_end(&mut bytes).ok()?;
    (!bytes.contains(&0)).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns true for a file that is executed or that scripts load, by its name, its mode or its
/// first line.
fn is_code(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    if extension.is_some_and(|extension| SCRIPTS.contains(&extension)) || is_executable(path) {
        return true;
    }
    let mut first = [0; 2];
    let read = fs::File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"#!"
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    false
}
