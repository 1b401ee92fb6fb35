//! Watching files: `fs.watch` over inotify.
//!
//! JavaScript asks for the next events of a watch and receives a promise, so that events that it
//! does not handle wait in the kernel, which bounds them.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::error::NativeError;
use crate::host::{Host, Natives};
use crate::value::Plain;
use system::Watch;

/// Watches of files by number.
type Watches = RefCell<BTreeMap<u64, Watch>>;

pub(in crate::native) const FUNCTIONS: Natives = &[
    // Returns the number of a new watch.
    ("watch", |call| {
        let watch = system::watch(call.host, &call.text(0)?)?;
        let number = call.host.number();
        call.host.area::<Watches>().borrow_mut().insert(number, watch);
        call.reply(number)
    }),
    // Resolves to a list of alternating kinds and names; to nothing when the watch has ended.
    ("nextEvents", |call| {
        let watch = call.host.area::<Watches>().borrow().get(&call.handle(0)?).cloned();
        call.promise(async move {
            let Some(watch) = watch else { return Ok(Plain::Nothing) };
            Ok(watch.next().await.into())
        })
    }),
    ("unwatch", |call| {
        if let Some(watch) = call.host.area::<Watches>().borrow_mut().remove(&call.handle(0)?) {
            watch.end();
        }
        call.done()
    }),
];

#[cfg(target_os = "linux")]
mod system {
    use std::path::Path;
    use std::sync::Arc;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use tokio::net::unix::pipe;
    use tokio::sync::Notify;

    use super::*;
    use crate::access::{FileAccess, Links};
    use crate::native::errno::{self, file_error};

    /// A watch of a file or directory.
    #[derive(Debug, Clone)]
    pub(crate) struct Watch(Arc<Watched>);

    #[derive(Debug)]
    struct Watched {
        /// A descriptor of inotify, which is read like a pipe.
        events: pipe::Receiver,
        ended: Notify,
        /// Name of the file itself; the kernel names only files in a directory.
        own: String,
    }

    /// Starts a watch.
    pub(super) fn watch(host: &Host, given: &str) -> Result<Watch, NativeError> {
        let path = host.process.absolute(Path::new(given));
        let permission = host.access.file(&path, FileAccess::Read, Links::Follow)?;
        let path = host.block(|| permission.wait())?;
        let failed = |number| file_error(number, "watch", Some(given), None);
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let descriptor = descriptor.map_err(failed)?;
        let wanted = WatchFlags::ATTRIB
            | WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO;
        inotify::add_watch(&descriptor, &path, wanted).map_err(failed)?;
        let own = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let events = pipe::Receiver::from_owned_fd_unchecked(descriptor);
        let events = events.map_err(|error| failed(errno::number(&error)))?;
        let own = own.unwrap_or_default();
        Ok(Watch(Arc::new(Watched { events, ended: Notify::new(), own })))
    }

    impl Watch {
        /// Ends the watch; the next or the waiting call of [`Self::next`] returns `None`.
        pub(super) fn end(&self) {
            self.0.ended.notify_one();
        }

        /// Waits for events: alternating kinds, in Node's words, and names.
        pub(super) async fn next(&self) -> Option<Vec<String>> {
            let mut buffer = [0; 8192];
            loop {
                tokio::select! {
                    () = self.0.ended.notified() => return None,
                    ready = self.0.events.readable() => ready.ok()?,
                }
                match self.0.events.try_read(&mut buffer) {
                    Ok(count) => {
                        let events = parse(buffer.get(..count)?, &self.0.own);
                        if !events.is_empty() {
                            return Some(events);
                        }
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => return None,
                }
            }
        }
    }

    /// Parses events of inotify: number, kind, cookie and length, 32 bits each, and the name.
    fn parse(mut bytes: &[u8], own: &str) -> Vec<String> {
        let mut events = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<16>() {
            let field = |at: usize| {
                let field = head.get(at..at + 4).and_then(|field| field.try_into().ok());
                u32::from_ne_bytes(field.unwrap_or_default())
            };
            let (kind, length) = (ReadFlags::from_bits_retain(field(4)), field(12) as usize);
            let name = rest.get(..length).unwrap_or_default();
            bytes = rest.get(length..).unwrap_or_default();
            if kind.contains(ReadFlags::IGNORED) {
                continue;
            }
            let is_change = kind.intersects(ReadFlags::MODIFY | ReadFlags::ATTRIB);
            events.push(if is_change { "change" } else { "rename" }.to_owned());
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            events.push(match name {
                [] => own.to_owned(),
                name => String::from_utf8_lossy(name).into_owned(),
            });
        }
        events
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::*;

    /// A watch, of which there are none on this system.
    #[derive(Debug, Clone)]
    pub(crate) enum Watch {}

    pub(super) fn watch(_: &Host, _: &str) -> Result<Watch, NativeError> {
        Err(NativeError::new("fs.watch is not available on this system; use fs.watchFile"))
    }

    impl Watch {
        pub(super) fn end(&self) {
            match *self {}
        }

        pub(super) async fn next(&self) -> Option<Vec<String>> {
            match *self {}
        }
    }
}
