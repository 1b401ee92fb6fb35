//! Damage: some of it so severe that no rule permits it, the rest subject to approval.

use std::path::Path;

use super::Defaults;
use super::paths::Directories;
use crate::Decision;
use crate::programs::{self, Reach, Target, Trait, Writes};
use crate::shell::{Analysis, Command, FOUND, RedirectAccess};
use crate::word::Word;

/// Directories whose removal destroys the system.
const VITAL: &str = "/ /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /sys /usr /var \
    /Users /System /Library /Applications";

/// Damage that a command does.
#[derive(Debug, Clone, Copy)]
pub(super) struct Damage {
    pub(super) reach: Reach,
    /// The reason shown to users.
    pub(super) reason: &'static str,
}

impl Damage {
    /// Returns the decision of a profile about the damage.
    pub(super) fn decision(&self, defaults: Defaults) -> Decision {
        match self.reach {
            Reach::Workspace => defaults.destructive_inside,
            Reach::Repository => defaults.destructive_repository,
            Reach::Uncovered | Reach::Outside | Reach::Remote => defaults.destructive,
            Reach::Machine => Decision::Forbid,
        }
    }
}

/// Damage to files that no checkpoint covers.
pub(super) const UNCOVERED: Damage = Damage {
    reach: Reach::Uncovered,
    reason: "it deletes files that git ignores and that no checkpoint covers",
};

/// Returns the worst damage that a command does in a directory, if it is a known one.
pub(super) fn damage(
    command: &Command,
    directories: Directories<'_>,
    workspace: &Path,
) -> Option<Damage> {
    if command.redirects.iter().any(|r| r.access != RedirectAccess::Read && is_disk(&r.target)) {
        return Some(Damage { reach: Reach::Machine, reason: programs::OVERWRITES_DISK.reason });
    }
    let hits = |target: Target, arguments: &[Word]| {
        let is_vital = |word: &Word| is_vital(word, directories);
        match target {
            Target::Any => true,
            Target::Vital => arguments.iter().any(is_vital),
            Target::VitalSource => operands(arguments).rev().skip(1).any(is_vital),
            Target::VitalDestination => operands(arguments).next_back().is_some_and(is_vital),
            Target::Disk => arguments.iter().any(is_disk),
        }
    };
    let harms = programs::harms(&command.words);
    let harms = harms.filter(|(harm, arguments)| hits(harm.target, arguments));
    let damages = harms.map(|(harm, arguments)| {
        let reach = match harm.reach {
            Reach::Workspace => files_reach(command, arguments, directories, workspace),
            Reach::Repository if !is_inside(directories.cwd, workspace) => Reach::Outside,
            reach => reach,
        };
        Damage { reach, reason: harm.reason }
    });
    // Of several that are equally severe, the first.
    damages.reduce(|worst, other| if other.reach > worst.reach { other } else { worst })
}

/// Returns true if a command that works in a directory works in the workspace.
fn is_inside(cwd: &Path, workspace: &Path) -> bool {
    cwd.starts_with(workspace) || is_temporary(cwd)
}

/// Returns how far damage to files reaches: to the workspace, to its repository, or beyond.
fn files_reach(
    command: &Command,
    arguments: &[Word],
    directories: Directories<'_>,
    workspace: &Path,
) -> Reach {
    let reach = |path: &Path| match path.strip_prefix(workspace) {
        Ok(inside) if inside.as_os_str().is_empty() || inside.starts_with(".git") => {
            Reach::Uncovered
        }
        Ok(_) => Reach::Workspace,
        Err(_) if is_temporary(path) => Reach::Workspace,
        Err(_) => Reach::Outside,
    };
    if !is_inside(directories.cwd, workspace) {
        return Reach::Outside;
    }
    let program = programs::find(command.base().unwrap_or_default());
    if !matches!(program.writes, Writes::All | Writes::Last) {
        return Reach::Workspace;
    }
    let reaches = operands(arguments).map(|word| {
        let raw = word.raw().replace('"', "");
        let text = match word {
            Word::Literal { text, .. } => text.clone(),
            Word::Unknown { .. } if raw.starts_with("$HOME") => raw.replace("$HOME", "~"),
            Word::Unknown { .. } if raw.starts_with("$PWD") => raw.replace("$PWD", "."),
            // What is unknown is left to the sandbox.
            Word::Unknown { prefix, .. } if prefix.is_empty() => return Reach::Workspace,
            Word::Unknown { prefix, .. } => prefix.clone(),
        };
        let path = directories.absolute(&text, directories.cwd);
        // The root of a search is not what is deleted.
        let is_root =
            program.has(Trait::Searches) || matches!(word, Word::Unknown { why: FOUND, .. });
        if is_root && path == workspace { Reach::Workspace } else { reach(&path) }
    });
    reaches.max().unwrap_or(Reach::Workspace)
}

/// Returns the paths that a command that removes or replaces files names, as far as they are known,
/// and the names that it looks for below them, if it searches.
pub(super) fn named(command: &Command) -> (Vec<&str>, Vec<&str>) {
    let program = programs::find(command.base().unwrap_or_default());
    let deletes = program.has(Trait::Searches) && harm_of_files(command);
    if !program.has(Trait::Removes) && !deletes {
        return (Vec::new(), Vec::new());
    }
    let arguments = command.words.get(1..).unwrap_or_default();
    let paths = operands(arguments).filter_map(known_start).collect();
    let mut names = Vec::new();
    if program.has(Trait::Searches) {
        for pair in arguments.windows(2) {
            if let [option, name] = pair
                && matches!(option.literal(), Some("-name" | "-iname"))
            {
                names.extend(name.literal());
            }
        }
    }
    (paths, names)
}

/// Returns the text of a word, or what is known of its start.
fn known_start(word: &Word) -> Option<&str> {
    match word {
        Word::Literal { text, .. } => Some(text),
        Word::Unknown { prefix, .. } => Some(prefix.as_str()).filter(|prefix| !prefix.is_empty()),
    }
}

/// Returns true if a call by itself damages files.
fn harm_of_files(command: &Command) -> bool {
    let mut harms = programs::harms(&command.words);
    harms.any(|(harm, _)| matches!(harm.reach, Reach::Workspace | Reach::Uncovered))
}

/// Returns true if a file may have a name of these patterns. Without patterns, every file has.
pub(super) fn has_name(path: &Path, patterns: &[&str]) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let fits = |pattern: &&str| {
        let start = pattern.split(['*', '?', '[']).next().unwrap_or_default();
        let end = pattern.rsplit(['*', '?', ']']).next().unwrap_or_default();
        name.starts_with(start) && name.ends_with(end)
    };
    patterns.is_empty() || patterns.iter().any(fits)
}

fn is_temporary(path: &Path) -> bool {
    ["/tmp", "/var/tmp"].iter().any(|tmp| path.starts_with(tmp) && path != Path::new(tmp))
}

/// Returns true if a function of the script starts itself twice in the background.
pub(super) fn is_fork_bomb(script: &str, analysis: &Analysis) -> bool {
    let dense: String = script.chars().filter(|c| !c.is_whitespace()).collect();
    analysis.functions.iter().any(|name| {
        dense.contains(&format!("{name}|{name}&"))
            || dense.contains(&format!("{name}&{name};}}"))
            || dense.contains(&format!("{name}&{name}&"))
    }) || dense.contains(":(){:|:&};:")
}

/// Returns the arguments that are no options.
pub(super) fn operands(arguments: &[Word]) -> impl DoubleEndedIterator<Item = &Word> {
    arguments.iter().filter(|word| word.literal().is_none_or(|text| !text.starts_with('-')))
}

/// Returns true if a word is a whole disk.
pub(super) fn is_disk(word: &Word) -> bool {
    let text = word.literal().unwrap_or_else(|| word.raw());
    // `of=/dev/sda`
    let text = text.split_once('=').map_or(text, |(_, value)| value);
    ["/dev/sd", "/dev/nvme", "/dev/hd", "/dev/vd", "/dev/disk", "/dev/mmcblk", "/dev/mapper/"]
        .iter()
        .any(|start| text.starts_with(start))
}

/// Returns true if a word is a system directory or the home directory, or everything in one.
fn is_vital(word: &Word, directories: Directories<'_>) -> bool {
    let text = match word {
        Word::Literal { text, .. } => text.as_str(),
        // `/*`, `~/*`, `$HOME`, `"$HOME"/*`
        Word::Unknown { raw, .. } => raw.as_str(),
    };
    // `${HOME:?}`
    let home = text.split_once("${HOME").and_then(|(before, rest)| {
        let (_, after) = rest.split_once('}')?;
        (!rest.starts_with(is_name)).then(|| format!("{before}~{after}"))
    });
    let text = home.unwrap_or_else(|| text.to_owned()).replace(['"', '\'', '{', '}'], "");
    let text = match text.strip_prefix("$HOME") {
        Some(rest) if !rest.starts_with(is_name) => format!("~{rest}"),
        _ => text,
    };
    // A last component that is only a pattern means everything in the directory.
    let (above, last) = text.trim_end_matches('/').rsplit_once('/').unwrap_or((".", &text));
    let pattern =
        last.contains(['*', '?']) && without_sets(last).chars().all(|c| "*?.,".contains(c));
    let is_home = last.starts_with('$') && matches!(above, "/home" | "/Users");
    let text = if is_home {
        "~"
    } else if pattern && above.is_empty() {
        "/"
    } else if pattern {
        above
    } else {
        text.as_str()
    };
    let path = directories.absolute(text, directories.cwd);
    VITAL.split_ascii_whitespace().any(|vital| path == Path::new(vital))
        || directories.home.is_some_and(|home| path == home)
        || matches!(text, "~" | "~/")
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Returns a name without a set such as `[a-z]`.
fn without_sets(name: &str) -> String {
    match (name.find('['), name.rfind(']')) {
        (Some(open), Some(close)) if open < close => [&name[..open], &name[close + 1..]].concat(),
        _ => name.to_owned(),
    }
}
