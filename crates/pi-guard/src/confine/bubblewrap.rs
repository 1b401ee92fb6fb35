//! The arguments of bubblewrap: the view of the file system that a command gets.
//!
//! Later mounts cover earlier ones, so the order is: everything read-only, private `/dev`, `/proc`,
//! `/run` and `/tmp`, the parts of `/tmp` that stay visible, writable roots, protected paths in
//! them, forbidden programs, hidden paths, directories at other paths.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::access::{NEEDED_IN_RUN, shown_in_tmp};
use super::roots::Root;
use super::watch::connect;
use super::{Confined, Confinement, Network, bridge};

/// Options for separate processes and shared memory, no capabilities, and an end together with the
/// parent. Root works without a user namespace where none can be created.
pub(super) const NAMESPACES: &[&str] = &[
    "--new-session",
    "--die-with-parent",
    "--unshare-user-try",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
];

/// Directories that are replaced by private ones.
const PRIVATE: [&str; 3] = ["/dev", "/run", "/tmp"];

/// Returns all arguments up to the program; `helper` is the program that continues inside.
pub(super) fn arguments(
    confined: &Confined,
    roots: &[Root],
    helper: &Path,
    cwd: &Path,
) -> Vec<OsString> {
    let confinement = &confined.confinement;
    let mut view = View(NAMESPACES.iter().map(OsString::from).collect());
    if confinement.network != Network::On {
        view.0.push("--unshare-net".into());
    }
    view.two("--ro-bind", "/", "/");
    view.one("--dev", "/dev");
    view.one("--proc", "/proc");
    if let Some(proxy) = &confinement.proxy {
        view.two("--ro-bind", proxy, bridge::SOCKET);
    }
    if let Some(watch) = &confined.watch {
        view.two("--ro-bind", &watch.socket, connect::SOCKET);
    }
    run(confinement, &mut view);
    match confinement.private_tmp() {
        Some(tmp) => view.two("--bind", tmp, "/tmp"),
        None => view.one("--tmpfs", "/tmp"),
    }
    // A link in a private directory does not exist in the view.
    let real_cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
    let is_private = |path: &Path| PRIVATE.iter().any(|private| path.starts_with(private));
    let cwd = if is_private(cwd) { real_cwd.as_path() } else { cwd };
    let paths = roots.iter().map(|root| root.path.as_path()).chain([helper, &real_cwd]);
    let mut shown = shown_in_tmp(paths);
    for path in [helper, &real_cwd] {
        if is_private(path) && !path.starts_with("/tmp") {
            shown.insert(path.to_owned());
        }
    }
    for path in &shown {
        view.two("--ro-bind", path, path);
    }
    // A path is resolved again because a link could have been created since.
    let visible = |paths: &[PathBuf]| -> Vec<PathBuf> {
        let in_root = |path: &Path| roots.iter().any(|root| path.starts_with(&root.path));
        let is_shown = |path: &Path| shown.iter().any(|shown| path.starts_with(shown));
        let real = paths.iter().filter_map(|path| fs::canonicalize(path).ok());
        real.filter(|path| !is_private(path) || in_root(path) || is_shown(path)).collect()
    };
    let (programs, hidden) =
        (visible(&confinement.forbidden_programs), visible(&confinement.hidden));
    for root in roots {
        writable(root, &[&programs[..], &hidden].concat(), &mut view);
    }
    for program in programs.iter().filter(|program| program.is_file()) {
        // A device that cannot be opened there: neither run, nor loaded, nor copied.
        view.two("--ro-bind", "/dev/null", program);
    }
    for hidden in hidden {
        if hidden.is_dir() {
            view.0.extend(["--perms".into(), "0000".into()]);
            view.one("--tmpfs", &hidden);
            view.one("--remount-ro", &hidden);
        } else {
            view.two("--ro-bind", "/dev/null", hidden);
        }
    }
    for mount in &confinement.mounts {
        let option = if mount.writable { "--bind" } else { "--ro-bind" };
        view.two(option, &mount.source, &mount.target);
    }
    view.one("--chdir", cwd);
    view.0.push("--".into());
    view.0
}

/// Covers `/run`, where services listen, except for files that programs need. The configuration of
/// the resolver may be there.
fn run(confinement: &Confinement, view: &mut View) {
    if !Path::new("/run").is_dir() {
        return;
    }
    view.one("--tmpfs", "/run");
    for needed in NEEDED_IN_RUN {
        view.two("--ro-bind-try", needed, needed);
    }
    let names = fs::canonicalize("/etc/resolv.conf").ok();
    if let Some(names) = names.filter(|names| names.starts_with("/run"))
        && confinement.network == Network::On
    {
        view.two("--ro-bind", &names, &names);
    }
}

fn writable(root: &Root, covered: &[PathBuf], view: &mut View) {
    // Landlock cannot refuse new files below `/tmp`, which is writable as a whole: there, only
    // what exists is mounted.
    let given = match root.path.starts_with("/tmp") {
        true => root.beside_absent(),
        false => vec![root.path.clone()],
    };
    for path in &given {
        view.two("--bind", path, path);
    }
    let in_given = |path: &&PathBuf| given.iter().any(|given| path.starts_with(given));
    // A directory above a protected or hidden path could be renamed and replaced; a mount point
    // cannot.
    for way in root.ways(covered).iter().filter(in_given).filter(|way| way.is_dir()) {
        view.two("--bind", way, way);
    }
    for present in root.present.iter().filter(in_given) {
        if is_empty_directory(present) {
            // Perhaps the cover of another program, which removes it soon: this needs no source.
            view.one("--tmpfs", present);
            view.one("--remount-ro", present);
        } else {
            view.two("--ro-bind", present, present);
        }
    }
    for (file, _) in root.covers.iter().filter(|(file, _)| in_given(&file)) {
        // Another program may have removed it just now; then an examination has to do.
        view.two("--ro-bind-try", file, file);
    }
    for missing in root.covered() {
        view.one("--tmpfs", &missing);
        view.one("--remount-ro", &missing);
    }
}

fn is_empty_directory(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

struct View(Vec<OsString>);

impl View {
    fn one(&mut self, option: &str, path: impl AsRef<Path>) {
        self.0.extend([option.into(), path.as_ref().into()]);
    }

    fn two(&mut self, option: &str, from: impl AsRef<Path>, to: impl AsRef<Path>) {
        self.0.extend([option.into(), from.as_ref().into(), to.as_ref().into()]);
    }
}
