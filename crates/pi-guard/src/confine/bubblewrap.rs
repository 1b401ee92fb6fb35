//! The view of the machine that bubblewrap gives to a command, as its arguments.
//!
//! Later arguments cover earlier ones, so the order is: everything read-only, the system's own
//! places, temporary files, writable roots, what is protected in them, programs that are
//! forbidden, what is hidden.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::reach::NEEDED_OF_RUN;
use super::roots::Root;
use super::{Confinement, Network, bridge};

/// Own processes, own shared memory, no rights, and an end together with the parent. Where user
/// namespaces are not to be had, root does without.
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

/// Where a command sees something of its own.
const COVERED: [&str; 2] = ["/tmp", "/run"];

/// All arguments up to the program; `helper` is the program that goes on inside.
pub(super) fn arguments(
    confinement: &Confinement,
    roots: &[Root],
    helper: &Path,
    cwd: &Path,
) -> Vec<OsString> {
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
    run(confinement, &mut view);
    match confinement.private_tmp() {
        Some(tmp) => view.two("--bind", tmp, "/tmp"),
        None => view.one("--tmpfs", "/tmp"),
    }
    let above = above(roots, helper);
    for directory in &above {
        view.one("--tmpfs", directory);
    }
    // A link could have been put there since.
    let real = |paths: &[PathBuf]| -> Vec<PathBuf> {
        let given = |path: &PathBuf| roots.iter().any(|root| path.starts_with(&root.path));
        let seen =
            |path: &PathBuf| given(path) || !COVERED.iter().any(|place| path.starts_with(place));
        paths.iter().filter_map(|path| fs::canonicalize(path).ok()).filter(seen).collect()
    };
    let (programs, hidden) = (real(&confinement.forbidden_programs), real(&confinement.hidden));
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
    if COVERED.iter().any(|covered| helper.starts_with(covered)) {
        view.two("--ro-bind", helper, helper);
    }
    for directory in &above {
        view.one("--remount-ro", directory);
    }
    view.one("--chdir", cwd);
    view.0.push("--".into());
    view.0
}

/// The directories directly in `/tmp` on the way to what is given there. In a `/tmp` of its own they
/// would be a command's, which could rename them and lead what the next one gets elsewhere.
fn above(roots: &[Root], helper: &Path) -> Vec<PathBuf> {
    let given: Vec<&Path> = roots.iter().map(|root| root.path.as_path()).chain([helper]).collect();
    let first = |path: &&Path| {
        let mut parts = path.strip_prefix("/tmp").ok()?.components();
        let first = Path::new("/tmp").join(parts.next()?);
        (first != **path).then_some(first)
    };
    let mut above: Vec<PathBuf> = given.iter().filter_map(first).collect();
    above.retain(|directory| !roots.iter().any(|root| directory.starts_with(&root.path)));
    above.sort();
    above.dedup();
    above
}

/// `/run` is where services listen; names of hosts are looked up with a file that may be there.
fn run(confinement: &Confinement, view: &mut View) {
    if !Path::new("/run").is_dir() {
        return;
    }
    view.one("--tmpfs", "/run");
    for needed in NEEDED_OF_RUN {
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
    // Where `/tmp` as a whole is given, Landlock keeps nothing from being made below it.
    let given = match root.path.starts_with("/tmp") {
        true => root.beside_absent(),
        false => vec![root.path.clone()],
    };
    for path in &given {
        view.two("--bind", path, path);
    }
    let in_given = |path: &&PathBuf| given.iter().any(|given| path.starts_with(given));
    // A directory on the way to something protected or hidden could be renamed, and another put
    // in its place; a mount point cannot.
    for way in root.ways(covered).iter().filter(in_given).filter(|way| way.is_dir()) {
        view.two("--bind", way, way);
    }
    for present in root.present.iter().filter(in_given) {
        view.two("--ro-bind", present, present);
    }
    for missing in root.covered() {
        view.one("--tmpfs", &missing);
        view.one("--remount-ro", &missing);
    }
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
