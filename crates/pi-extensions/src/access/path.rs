//! Real paths, so that a rule for a file holds under each of its names.

use std::path::{Component, Path, PathBuf};

/// The treatment of a symbolic link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The access concerns the file to which the link leads.
    Follow,
    /// The access concerns the link itself.
    Keep,
}

/// Returns the path of a file without symbolic links and `..`. The file may not exist: links are
/// resolved in the part that does.
pub(super) fn real(path: &Path, links: Links) -> PathBuf {
    if links == Links::Keep
        && let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && path.components().next_back().is_some_and(|part| matches!(part, Component::Normal(_)))
    {
        return resolve(parent, 0).join(name);
    }
    resolve(path, 0)
}

/// Links that lead to each other are followed as far as the system does.
const LONGEST_CHAIN: usize = 40;

fn resolve(path: &Path, depth: usize) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut real = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                real.push(name);
                // A link whose target does not exist: writing to it creates the target.
                if depth < LONGEST_CHAIN
                    && let Ok(target) = std::fs::read_link(&real)
                {
                    real.pop();
                    real = resolve(&real.join(target), depth + 1);
                }
            }
        }
    }
    real
}

/// Returns true for files that show or change a process: its memory, environment and open files.
pub(super) fn is_of_a_process(real: &Path) -> bool {
    let mut parts = real.components().skip(1);
    let text = |part: Option<Component<'_>>| match part {
        Some(Component::Normal(name)) => name.to_string_lossy().into_owned(),
        _ => String::new(),
    };
    let (first, second) = (text(parts.next()), text(parts.next()));
    let number = !second.is_empty() && second.bytes().all(|byte| byte.is_ascii_digit());
    first == "proc" && (number || second.ends_with("self")) && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_no_links_and_no_parents() {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("a")).unwrap();
        std::os::unix::fs::symlink("a", base.join("link")).unwrap();
        std::os::unix::fs::symlink("a/new", base.join("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", base.join("loop")).unwrap();
        let cases = [
            ("a/../a/x", Links::Follow, "a/x"),
            ("link/x", Links::Follow, "a/x"),
            ("link", Links::Follow, "a"),
            ("link", Links::Keep, "link"),
            ("link/x", Links::Keep, "a/x"),
            ("dangling", Links::Follow, "a/new"),
            ("missing/../a/y", Links::Follow, "a/y"),
            ("missing/z", Links::Follow, "missing/z"),
        ];
        for (path, links, expected) in cases {
            assert_eq!(real(&base.join(path), links), base.join(expected), "{path}");
        }
        // Ends, with any path.
        real(&base.join("loop/x"), Links::Follow);
    }

    #[test]
    fn files_of_processes_are_recognized() {
        for path in ["/proc/self/environ", "/proc/12/mem", "/proc/thread-self/fd/3"] {
            assert!(is_of_a_process(Path::new(path)), "{path}");
        }
        for path in ["/proc/cpuinfo", "/proc/12", "/proc", "/home/proc/1/x"] {
            assert!(!is_of_a_process(Path::new(path)), "{path}");
        }
    }
}
