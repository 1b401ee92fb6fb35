//! Real processes: the filter is installed in a thread, which then starts programs.

use std::fs;
use std::io;
use std::process::{Command, ExitStatus, Output};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use crate::{Call, Event, FileUse, Listener, Reported, install, probe, read_memory};

/// Runs `work` in a thread with the filter, and returns its listener.
fn watched<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> (Listener, JoinHandle<T>) {
    reporting(Reported::Programs, work)
}

fn reporting<T: Send + 'static>(
    reported: Reported,
    work: impl FnOnce() -> T + Send + 'static,
) -> (Listener, JoinHandle<T>) {
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        rustix::thread::set_no_new_privs(true).unwrap();
        send.send(install(reported).unwrap()).unwrap();
        work()
    });
    (Listener::new(receive.recv().unwrap(), reported), thread)
}

#[allow(clippy::disallowed_methods, reason = "a test starts a program directly")]
fn run(script: &str) -> io::Result<Output> {
    Command::new("/bin/sh").args(["-c", script]).output()
}

/// Answers all calls, and returns those that were received.
fn answer(listener: &Listener, permits: impl Fn(&Event) -> bool) -> Vec<Call> {
    let mut calls = Vec::new();
    while let Some(event) = listener.next_event().unwrap() {
        calls.push(event.call);
        assert!(listener.is_pending(&event));
        let answered =
            if permits(&event) { listener.permit(&event) } else { listener.refuse(&event) };
        answered.unwrap();
        assert!(!listener.is_pending(&event));
    }
    calls
}

/// Returns the program that a thread runs.
fn program(thread: u32) -> String {
    let path = fs::read_link(format!("/proc/{thread}/exe")).unwrap();
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn every_program_is_reported_before_and_after_it_starts() {
    let (listener, thread) = watched(|| run("/bin/true; exec /bin/echo done").unwrap());
    let calls = answer(&listener, |_| true);
    assert_eq!(thread.join().unwrap().stdout, b"done\n");
    let is_exec = |call: &Call| matches!(call, Call::Exec { directory: None, pointer: 8, .. });
    let kinds: Vec<bool> = calls.iter().map(is_exec).collect();
    assert_eq!(kinds, [true, false].repeat(3), "{calls:?}");
}

#[test]
fn a_refused_program_does_not_start() {
    let (listener, thread) = watched(|| run("/bin/echo ran; echo $?").unwrap());
    // The test starts the shell, which starts nothing.
    let shell = fs::canonicalize("/bin/sh").unwrap();
    let shell = shell.file_name().unwrap().to_string_lossy().into_owned();
    let permits = |event: &Event| event.call == Call::Started || program(event.thread) != shell;
    answer(&listener, permits);
    let output = thread.join().unwrap();
    assert_eq!(output.stdout, b"126\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("not permitted"));
}

#[test]
fn a_refused_image_ends() {
    let (listener, thread) = watched(|| run("echo ran").unwrap().status);
    answer(&listener, |event| event.call != Call::Started);
    let status: ExitStatus = thread.join().unwrap();
    assert!(!status.success());
}

#[test]
fn nothing_starts_after_the_listener_is_gone() {
    let (close, closed) = mpsc::channel();
    let (listener, thread) = watched(move || {
        closed.recv().unwrap();
        run("echo ran")
    });
    drop(listener);
    close.send(()).unwrap();
    let error = thread.join().unwrap().unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOSYS));
}

#[test]
fn threads_are_not_taken_for_programs() {
    let (listener, thread) = watched(|| {
        let inner = || fs::read("/proc/self/status").unwrap().len();
        thread::spawn(inner).join().unwrap()
    });
    assert_eq!(answer(&listener, |_| true), []);
    assert!(thread.join().unwrap() > 0);
}

/// Reads a text of another process.
fn text_of(thread: u32, address: u64) -> String {
    let mut buffer = [0; 256];
    let count = read_memory(thread, address, &mut buffer).unwrap();
    let text = buffer[..count].split(|byte| *byte == 0).next().unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}

#[test]
fn uses_of_files_are_reported_also_if_they_fail() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_owned();
    fs::write(place.join("there"), "text").unwrap();
    let script = format!("cd {}; read x < there; [ -e missing ]; echo > new", place.display());
    let (listener, thread) = reporting(Reported::ProgramsAndFiles, move || run(&script).unwrap());
    let mut uses = Vec::new();
    while let Some(event) = listener.next_event().unwrap() {
        if let Call::File { path, use_of, .. } = event.call {
            uses.push((text_of(event.thread, path), use_of));
        }
        listener.permit(&event).unwrap();
    }
    thread.join().unwrap();
    let used = |name: &str| uses.iter().find(|(path, _)| path == name).map(|(_, use_of)| *use_of);
    assert_eq!(used("there"), Some(FileUse::Read), "{uses:?}");
    assert_eq!(used("missing"), Some(FileUse::Look), "{uses:?}");
    assert_eq!(used("new"), Some(FileUse::Write), "{uses:?}");
}

#[test]
fn a_trial_has_no_effect_and_notices_a_listener() {
    probe().unwrap();
    probe().unwrap();
    // The filter of this thread would notice.
    assert_eq!(run("echo ran").unwrap().stdout, b"ran\n");
    let (listener, thread) = watched(|| probe().unwrap_err().kind());
    assert_eq!(answer(&listener, |_| true), []);
    assert_eq!(thread.join().unwrap(), io::ErrorKind::ResourceBusy);
}

#[test]
fn memory_is_read_up_to_the_first_unreadable_page() {
    let own = std::process::id();
    let text = b"some text".to_vec();
    let mut buffer = [0; 4];
    let address = text.as_ptr() as u64;
    assert_eq!(read_memory(own, address + 5, &mut buffer).unwrap(), 4);
    assert_eq!(&buffer, b"text");
    assert!(read_memory(own, 8, &mut buffer).is_err());
    // The end of the stack of this thread is followed by nothing.
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let stack = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
    let end = stack.split(['-', ' ']).nth(1).unwrap();
    let end = u64::from_str_radix(end, 16).unwrap();
    let mut buffer = [0; 256];
    assert_eq!(read_memory(own, end - 16, &mut buffer).unwrap(), 16);
}
