//! Giving up privileges: capabilities, access to files, system calls. None of this can be undone,
//! and it applies to every program that this process starts or becomes.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::roots::{self, Root};
use super::{Confinement, ConfinementLevel, Network, limits, syscalls};

/// The reason why privileges could not be given up. The command must not run then.
#[derive(Debug, thiserror::Error)]
pub(super) enum KernelError {
    #[error("resources cannot be limited: {0}")]
    Limits(rustix::io::Errno),
    #[error("capabilities cannot be dropped: {0}")]
    Capabilities(#[from] rustix::io::Errno),
    #[error("Landlock: {0}")]
    Ruleset(#[from] landlock::RulesetError),
    #[error("the kernel enforces only a part of the Landlock rules")]
    Partial,
    #[error("system calls cannot be filtered: {0}")]
    Filter(#[from] seccompiler::BackendError),
    #[error("system calls cannot be filtered: {0}")]
    Apply(#[from] seccompiler::Error),
}

/// Devices that store nothing and lead nowhere. Terminals are not among them: Landlock cannot tell
/// a new one from those of the user's other programs.
const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Gives up everything that the confinement does not grant. The `restored` paths are protected by
/// the caller, after the command.
pub(super) fn give_up(
    confinement: &Confinement,
    roots: &[Root],
    restored: &[PathBuf],
    level: ConfinementLevel,
    abi: u8,
) -> Result<(), KernelError> {
    limits::apply(&confinement.limits).map_err(KernelError::Limits)?;
    capabilities()?;
    files(confinement, roots, restored, level, abi)?;
    for filter in syscalls::filters(level, &confinement.mode, &confinement.network)? {
        seccompiler::apply_filter(&filter)?;
    }
    Ok(())
}

/// Gives up everything but open descriptors and Unix sockets.
pub(super) fn give_up_all() -> Result<(), KernelError> {
    capabilities()?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // As much of this as the kernel supports; the required version was checked before.
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V6))?
        .handle_access(AccessNet::from_all(ABI::V6))?
        .scope(Scope::from_all(ABI::V6))?;
    if ruleset.create()?.restrict_self()?.ruleset == RulesetStatus::NotEnforced {
        return Err(KernelError::Partial);
    }
    for filter in syscalls::filters_of_the_bridge()? {
        seccompiler::apply_filter(&filter)?;
    }
    Ok(())
}

/// Drops all capabilities and disables core dumps, which a program outside of the sandbox would
/// collect. The limit is one byte, because a limit of zero does not stop a collecting program.
fn capabilities() -> Result<(), KernelError> {
    let one = Rlimit { current: Some(1), maximum: Some(1) };
    rustix::process::setrlimit(Resource::Core, one)?;
    let none = CapabilitySet::empty();
    rustix::thread::set_no_new_privs(true)?;
    rustix::thread::clear_ambient_capability_set()?;
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets)?;
    Ok(())
}

fn files(
    confinement: &Confinement,
    roots: &[Root],
    restored: &[PathBuf],
    level: ConfinementLevel,
    abi: u8,
) -> Result<(), KernelError> {
    let version = match abi {
        0..=3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    };
    let all = AccessFs::from_all(version);
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
    let own_network = level == ConfinementLevel::Bubblewrap;
    if abi >= 4 && confinement.network == Network::Off && !own_network {
        ruleset = ruleset.handle_access(AccessNet::from_all(version))?;
    }
    if abi >= 6 {
        ruleset = ruleset.scope(Scope::from_all(version))?;
    }
    let mut rules = Rules { ruleset: Some(ruleset.create()?), version };

    let mut listed = vec![PathBuf::from("/")];
    let mut writable: Vec<PathBuf> = Vec::new();
    let mut unread = Vec::new();
    let mut hidden = Vec::new();
    if own_network {
        // Mounts take care of protected, hidden and forbidden paths. Files that must not be
        // created are left out here.
        writable.push("/dev".into());
        if !roots.iter().any(|root| Path::new("/tmp").starts_with(&root.path)) {
            writable.push("/tmp".into());
        }
        writable.extend(roots.iter().flat_map(Root::beside_absent));
    } else {
        hidden.extend(real(&confinement.hidden));
        unread.extend(real(&confinement.forbidden_programs));
        // A device can hold the content of hidden files: a disk, the memory, a terminal.
        hidden.push("/dev".into());
        listed = without("/", &hidden);
        writable.extend(confinement.private_tmp().map(Path::to_owned));
        let narrow = roots.iter().flat_map(|root| root.narrow(restored));
        writable.extend(narrow.flat_map(|path| without(path, &hidden)));
        for device in DEVICES.iter().map(PathBuf::from).chain(own_terminals()) {
            rules.add(&device, all & !DANGEROUS)?;
        }
        rules.add(Path::new("/dev"), LIST)?;
    }
    let own: Vec<&Path> =
        writable.iter().chain(roots.iter().map(|root| &root.path)).map(PathBuf::as_path).collect();
    unread.extend(appearing(&confinement.hidden, &own));
    for path in &listed {
        let rights = if unread.is_empty() { AccessFs::from_read(version) } else { LIST };
        rules.add(path, rights)?;
    }
    let readable =
        if unread.is_empty() { Vec::new() } else { without("/", &[&hidden[..], &unread].concat()) };
    for path in &readable {
        rules.add(path, CONTENT)?;
    }
    for path in &writable {
        let readable = without(path, &unread);
        // Beside a forbidden path, new files can be written but not read.
        if readable != [path.clone()] {
            rules.add(path, all & !DANGEROUS & !CONTENT)?;
        }
        for path in &readable {
            rules.add(path, all & !DANGEROUS)?;
        }
    }
    let Some(ruleset) = rules.ruleset else { return Err(KernelError::Partial) };
    if ruleset.restrict_self()?.ruleset != RulesetStatus::FullyEnforced {
        return Err(KernelError::Partial);
    }
    Ok(())
}

/// The terminals that this process was given as its standard streams.
fn own_terminals() -> impl Iterator<Item = PathBuf> {
    let streams =
        (0..3).filter_map(|stream| std::fs::read_link(format!("/proc/self/fd/{stream}")).ok());
    streams.filter(|path| path.starts_with("/dev/pts"))
}

/// Creating devices.
const DANGEROUS: BitFlags<AccessFs> = landlock::make_bitflags!(AccessFs::{MakeBlock | MakeChar});

/// Listing directories, and reading and running files.
const LIST: BitFlags<AccessFs> = landlock::make_bitflags!(AccessFs::{ReadDir});
const CONTENT: BitFlags<AccessFs> = landlock::make_bitflags!(AccessFs::{ReadFile | Execute});

/// The hidden paths that do not exist and that another process could create while the command
/// runs. A path that the command itself could create is its own.
fn appearing(hidden: &[PathBuf], own: &[&Path]) -> Vec<PathBuf> {
    let is_own = |path: &Path| own.iter().any(|own| path.starts_with(own));
    hidden.iter().filter(|path| !path.exists() && !is_own(path)).cloned().collect()
}

/// The real paths of those that exist.
fn real(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    paths.iter().filter_map(|path| std::fs::canonicalize(path).ok())
}

fn without(path: impl AsRef<Path>, excluded: &[PathBuf]) -> Vec<PathBuf> {
    let excluded: Vec<&Path> = excluded.iter().map(PathBuf::as_path).collect();
    roots::without(path.as_ref(), &excluded)
}

/// A ruleset of Landlock under construction.
struct Rules {
    ruleset: Option<RulesetCreated>,
    version: ABI,
}

impl Rules {
    /// Adds a rule for a path, unless the path does not exist.
    fn add(&mut self, path: &Path, rights: BitFlags<AccessFs>) -> Result<(), KernelError> {
        let Ok(descriptor) = PathFd::new(path) else { return Ok(()) };
        let of_file = AccessFs::from_file(self.version);
        // There may be thousands of paths, so the file is examined only if necessary.
        let rights =
            if of_file.contains(rights) || path.is_dir() { rights } else { rights & of_file };
        // A right to list names applies to directories only.
        if rights.is_empty() {
            return Ok(());
        }
        if let Some(ruleset) = self.ruleset.take() {
            self.ruleset = Some(ruleset.add_rule(PathBeneath::new(descriptor, rights))?);
        }
        Ok(())
    }
}
