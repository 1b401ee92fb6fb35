//! Comparing protected paths with what they were, and restoring that.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    self, AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Timespec, Timestamps, Uid,
};
use rustix::io::Errno;

use super::super::Leftover;
use super::super::leftovers::entry;
use super::node::{self, Facts, Kept, Node};
use super::{Entry, may_appear, may_vanish};

/// The most changes of one protected path that are reported one by one.
const MOST_REPORTED: usize = 20;

/// Restores what was at a protected path.
pub(super) fn restore(entry: &Entry, found: &mut Vec<Leftover>) {
    let (Some(above), Some(name)) = (entry.inside.parent(), entry.inside.file_name()) else {
        return;
    };
    let mut changes = Changes {
        top: entry.path(),
        name: name.to_owned(),
        may_vanish: may_vanish(&entry.inside),
        quarantine: None,
        found: Vec::new(),
        unreported: 0,
    };
    let done = entry::open_root(&entry.root).and_then(|root| {
        let Some(above) = reach(&root, entry, above, &mut changes)? else { return Ok(()) };
        if entry.node.is_none() && may_appear(&entry.inside) {
            return Ok(());
        }
        changes.compare(&above, &above, name, entry.node.as_ref(), Path::new(""))
    });
    if let Err(error) = done {
        changes.fail(entry.path(), error);
    }
    if changes.unreported > 0 {
        let reason = format!("{} more changes of a command in it were undone", changes.unreported);
        changes.found.push(Leftover::undone(entry.path(), None, reason));
    }
    found.append(&mut changes.found);
}

/// Opens the directory of a protected path. What a command put in the place of a directory above it
/// is moved away. Returns none if nothing was at the path and nothing can be.
fn reach(
    root: &OwnedFd,
    entry: &Entry,
    above: &Path,
    changes: &mut Changes,
) -> Result<Option<entry::Opened>, Errno> {
    let mut reached = entry::open(root, Path::new(""))?;
    let mut place = entry.root.clone();
    for name in above {
        place.push(name);
        let next = match entry::open(&reached, Path::new(name)) {
            Err(error) if entry::is_gone(error) => {
                if entry.node.is_none() || (error == Errno::NOENT && may_vanish(&entry.inside)) {
                    return Ok(None);
                }
                if error != Errno::NOENT {
                    let new = entry::disable(&reached, name)?;
                    let reason =
                        "a command put it in the place of a directory with protected files";
                    let new = place.with_file_name(new);
                    changes.report(Leftover::undone(place.clone(), Some(new), reason.to_owned()));
                }
                let _writable = entry::writable(&reached)?;
                fs::mkdirat(&*reached, name, Mode::from_raw_mode(0o755))?;
                entry::open(&reached, Path::new(name))?
            }
            next => next?,
        };
        reached = next;
    }
    Ok(Some(reached))
}

/// The changes of one protected path.
struct Changes {
    top: PathBuf,
    name: OsString,
    may_vanish: bool,
    /// The directory for what is moved away from inside of the protected path, and its path.
    quarantine: Option<(OwnedFd, PathBuf)>,
    found: Vec<Leftover>,
    unreported: usize,
}

impl Changes {
    fn report(&mut self, leftover: Leftover) {
        if self.found.len() < MOST_REPORTED || leftover.is_dangerous() {
            self.found.push(leftover);
        } else {
            self.unreported += 1;
        }
    }

    fn fail(&mut self, path: PathBuf, error: Errno) {
        let mut leftover = Leftover::undone(path, None, "it is protected".to_owned());
        leftover.problem =
            Some(format!("a command changed it, and it could not be restored ({error})"));
        self.found.push(leftover);
    }

    /// Compares what is at a name with what was there. `above` is the directory of the protected
    /// path, and `inside` leads from that path to the name.
    fn compare(
        &mut self,
        above: &OwnedFd,
        directory: &OwnedFd,
        name: &OsStr,
        former: Option<&Node>,
        inside: &Path,
    ) -> Result<(), Errno> {
        let _writable = entry::writable(directory)?;
        let now = match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) if self.may_vanish => return Ok(()),
            Err(Errno::NOENT) => {
                if let Some(former) = former.filter(|former| !matches!(former, Node::Other)) {
                    create(directory, name, former)?;
                    let reason = "a command removed it, and it is protected: it is restored";
                    self.report(Leftover::undone(self.path(inside), None, reason.to_owned()));
                }
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let kind = FileType::from_raw_mode(now.st_mode);
        let is_same = match (former, kind) {
            (Some(Node::Other), _) => true,
            (Some(Node::File(kept)), FileType::RegularFile) => {
                self.is_same_file(directory, name, kept, &Facts::new(&now), inside)?
            }
            (Some(Node::Link(target)), FileType::Symlink) => {
                node::link(directory, name).is_ok_and(|now| now == *target)
            }
            (Some(Node::Directory(mode, children)), FileType::Directory) => {
                if Mode::from_raw_mode(now.st_mode) != *mode {
                    entry::set_mode_of(directory, name, *mode)?;
                    self.changed_mode(inside);
                }
                return self.compare_children(above, directory, name, children, inside);
            }
            _ => false,
        };
        if is_same {
            return Ok(());
        }
        let moved = self.move_away(above, directory, name, inside)?;
        let reason = match former {
            Some(former) => {
                create(directory, name, former)?;
                "a command changed it, and it is protected: its former content is restored"
            }
            None => "a command created it, and it is protected",
        };
        self.report(Leftover::undone(self.path(inside), Some(moved), reason.to_owned()));
        Ok(())
    }

    fn compare_children(
        &mut self,
        above: &OwnedFd,
        directory: &OwnedFd,
        name: &OsStr,
        children: &BTreeMap<OsString, Node>,
        inside: &Path,
    ) -> Result<(), Errno> {
        let (inner, names) = entry::names(directory, name)?;
        for name in names.iter().filter(|name| !children.contains_key(*name)) {
            self.one(above, &inner, name, None, &inside.join(name));
        }
        for (name, former) in children {
            self.one(above, &inner, name, Some(former), &inside.join(name));
        }
        Ok(())
    }

    /// Like [`Self::compare`], but a failure does not end the work on others.
    fn one(
        &mut self,
        above: &OwnedFd,
        directory: &OwnedFd,
        name: &OsStr,
        former: Option<&Node>,
        inside: &Path,
    ) {
        if let Err(error) = self.compare(above, directory, name, former, inside) {
            self.fail(self.path(inside), error);
        }
    }

    fn is_same_file(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        kept: &Kept,
        now: &Facts,
        inside: &Path,
    ) -> Result<bool, Errno> {
        if kept.is_unchanged(now) {
            return Ok(true);
        }
        let content = node::read(directory, name, kept.content.len());
        if now.has_new_names(&kept.stat) || !content.is_ok_and(|now| *now == *kept.content) {
            return Ok(false);
        }
        if now.mode != kept.stat.mode {
            entry::set_mode_of(directory, name, Mode::from_raw_mode(kept.stat.mode))?;
            self.changed_mode(inside);
        }
        if now.modified != kept.stat.modified {
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            fs::utimensat(directory, name, &times(&kept.stat), flags)?;
        }
        Ok(true)
    }

    fn changed_mode(&mut self, inside: &Path) {
        let reason = "a command changed its mode, and it is protected: the mode is restored";
        self.report(Leftover::undone(self.path(inside), None, reason.to_owned()));
    }

    fn path(&self, inside: &Path) -> PathBuf {
        if inside.as_os_str().is_empty() { self.top.clone() } else { self.top.join(inside) }
    }

    /// Moves what is at a name out of the protected path, where nothing reads it. Returns the new
    /// path.
    fn move_away(
        &mut self,
        above: &OwnedFd,
        directory: &OwnedFd,
        name: &OsStr,
        inside: &Path,
    ) -> Result<PathBuf, Errno> {
        let (Some(inner), false) = (inside.parent(), inside.as_os_str().is_empty()) else {
            return Ok(self.top.with_file_name(entry::disable(directory, name)?));
        };
        let (top, path) = match self.quarantine.take() {
            Some(known) => known,
            None => {
                let (directory, new) = entry::make_free(above, &self.name)?;
                (directory, self.top.with_file_name(new))
            }
        };
        let moved = into(&top, inner, directory, name);
        let new = path.join(inside);
        self.quarantine = Some((top, path));
        moved.map(|()| new)
    }
}

/// Moves a name into a directory below the quarantine.
fn into(top: &OwnedFd, inner: &Path, directory: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    for path in inner.ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
        match fs::mkdirat(top, path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    let target = entry::open(top, inner)?;
    entry::rename_into(directory, name, &target)
}

/// Creates what was at a name.
fn create(directory: &OwnedFd, name: &OsStr, node: &Node) -> Result<(), Errno> {
    match node {
        Node::Other => Ok(()),
        Node::Link(target) => fs::symlinkat(target.as_os_str(), directory, name),
        Node::Directory(mode, children) => {
            fs::mkdirat(directory, name, Mode::RWXU)?;
            let inner = entry::open(directory, Path::new(name))?;
            for (name, child) in children {
                create(&inner, name, child)?;
            }
            fs::fchmod(&*inner, *mode)
        }
        Node::File(kept) => create_file(directory, name, kept),
    }
}

/// Creates a file under another name first: a program outside of the sandbox must not read a part.
fn create_file(directory: &OwnedFd, name: &OsStr, kept: &Kept) -> Result<(), Errno> {
    let temporary = entry::random_name(".pi-restored");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(fs::openat(directory, &temporary, flags, Mode::RUSR | Mode::WUSR)?);
    let written = file.write_all(&kept.content);
    let done =
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)).and_then(|()| {
            let (user, group) = kept.stat.owner;
            let own = Facts::new(&fs::fstat(&file)?);
            if own.owner != kept.stat.owner {
                let (user, group) = (Uid::from_raw(user), Gid::from_raw(group));
                fs::fchown(&file, Some(user), Some(group))?;
            }
            fs::fchmod(&file, Mode::from_raw_mode(kept.stat.mode))?;
            fs::futimens(&file, &times(&kept.stat))?;
            fs::renameat_with(directory, &temporary, directory, name, RenameFlags::NOREPLACE)
        });
    if done.is_err() {
        // The cause is reported, and the content is still kept.
        let _ = fs::unlinkat(directory, &temporary, AtFlags::empty());
    }
    done
}

fn times(facts: &Facts) -> Timestamps {
    let (tv_sec, tv_nsec) = facts.modified;
    let modified = Timespec { tv_sec, tv_nsec };
    Timestamps { last_access: modified, last_modification: modified }
}
