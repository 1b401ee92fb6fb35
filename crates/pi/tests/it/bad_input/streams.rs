//! Standard streams that are closed or carry too much.

use std::fs;
use std::process::{Command, Stdio};

use crate::scenarios::format::{Part, Reply, Status};

use super::{Place, finish};

/// A pipe whose reader has gone, as in `pi | head -0`.
fn gone() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

/// Runs without looking at stdout; the code and what was on stderr.
fn run(mut command: Command, stdout: Stdio) -> (Option<i32>, String) {
    let child = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    // The other ends of the pipes that were given away.
    drop(command);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_reader_that_has_gone_ends_the_program_quietly() {
    for arguments in [&["-p", "Hello"][..], &["--mode", "json", "Hello"], &["--help"]] {
        let place = Place::with_answer();
        let ended = run(place.world.command(arguments), gone());
        assert_eq!(ended, (Some(141), String::new()), "{arguments:?}");
        if arguments.contains(&"-p") {
            // The answer is kept all the same.
            let sessions = place.sessions();
            assert!(fs::read_to_string(&sessions[0]).unwrap().contains("An answer."));
        }
    }
}

#[test]
fn rpc_mode_ends_when_nobody_reads() {
    let place = Place::with_answer();
    let mut command = place.world.command(&["--mode", "rpc"]);
    // The input stays open: what ends it is that it cannot answer.
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(reader);
    std::io::Write::write_all(&mut writer, b"{\"type\":\"get_state\"}\n").unwrap();
    assert_eq!(run(command, gone()), (Some(141), String::new()));
}

#[test]
fn output_that_cannot_be_written_is_said() {
    for arguments in [&["-p", "Hello"][..], &["--mode", "json", "Hello"]] {
        let place = Place::with_answer();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let (code, stderr) = run(place.world.command(arguments), full.into());
        assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
        assert!(stderr.contains("could not write the output: No space left"), "{stderr}");
    }
}

/// Streams that do not exist at all.
#[test]
fn closed_streams_are_survived() {
    let script = |closed: &str| format!("exec \"$0\" \"$@\" {closed}");
    for mode in ["-p", "--mode=json"] {
        for closed in ["<&-", "2>&-", "<&- 2>&-"] {
            let place = Place::with_answer();
            let pi = place.world.command(&[mode, "Hello"]);
            let mut shell = Command::new("sh");
            shell.args(["-c", &script(closed)]).arg(pi.get_program());
            let ended = finish(super::again(&pi, shell), &[]);
            assert_eq!(ended.code, Some(0), "{mode} {closed}: {ended:?}");
            assert!(ended.stdout.contains("An answer."), "{mode} {closed}: {ended:?}");
            ended.said(&[]);
        }
    }
    let place = Place::with_answer();
    let pi = place.world.command(&["--mode", "rpc"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script("<&-")]).arg(pi.get_program());
    let ended = finish(super::again(&pi, shell), &[]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
}

/// More than any model reads. It is not read to its end, and nothing is sent.
#[test]
fn a_hundred_megabytes_on_stdin_are_refused() {
    for mode in ["-p", "--mode=json"] {
        let place = Place::with_answer();
        let input = vec![b'x'; 100_000_000];
        let ended = finish(place.world.command(&[mode, "Hello"]), &input);
        ended.failed(1, &["more than 32 MB", "give the file's name instead"]);
        assert!(place.server.requests().is_empty());
        assert!(place.sessions().is_empty());
    }
}

#[test]
fn stdin_that_is_no_text_is_read_as_far_as_it_goes() {
    let place = Place::with_answer();
    let ended = finish(place.world.command(&["-p"]), b"\xef\xbb\xbfread \xff\xfe this\0\n");
    ended.answered(&[]);
    let request = place.server.requests()[0].to_string();
    assert!(request.contains("read \u{fffd}\u{fffd} this"), "{request}");
}

#[test]
fn attached_files() {
    let place = Place::with_answer();
    let project = place.world.project();
    fs::write(project.join("large.txt"), "large ".repeat(10_000_000 / 6)).unwrap();
    place.run(&["-p", "@large.txt", "Hello"]).answered(&[]);
    assert!(place.server.requests()[0].to_string().contains("large large"));

    let place = Place::with_answer();
    place.run(&["-p", "@none.txt", "Hello"]).failed(1, &["File not found", "none.txt"]);
    place.run(&["-p", "@.", "Hello"]).failed(1, &["Not a file"]);
    assert!(place.server.requests().is_empty());
}

#[test]
fn nothing_to_say_is_a_wrong_command_line() {
    for input in ["", " \n\t\n"] {
        let place = Place::with_answer();
        let ended = finish(place.world.command(&["-p"]), input.as_bytes());
        ended.failed(2, &["there is nothing to say; give a message or pipe one in"]);
        assert!(place.server.requests().is_empty() && place.sessions().is_empty());
    }
}

/// Colours, titles and worse are for the user to choose: a terminal gets text. Other programs get
/// what the model said.
#[test]
fn a_terminal_gets_no_control_characters() {
    let answer = "An \u{1b}[31manswer\u{9b}2J\u{7}.\tEnd";
    let place = Place::new(vec![Reply::Text(answer.to_owned()); 2]);
    let ended = place.run(&["-p", "Hello"]);
    assert_eq!(ended.stdout, format!("{answer}\n"));
    let pi = place.world.command(&["-p", "Hello"]);
    // Gives a program a terminal of its own.
    let mut script = Command::new("script");
    let program = format!("'{}' -p Hello", pi.get_program().to_str().unwrap());
    script.args(["--quiet", "--return", "--command", &program, "/dev/null"]);
    script.current_dir(pi.get_current_dir().unwrap()).env_clear().stdin(Stdio::null());
    script.envs(pi.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = finish(script, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout.trim(), "An [31manswer2J.\tEnd", "{ended:?}");
}

/// What a server says is no text of ours either.
#[test]
fn errors_that_are_quoted_have_no_control_characters() {
    let status = Status {
        code: 400,
        headers: Default::default(),
        body: "no \u{1b}]0;title\u{7} here".into(),
    };
    let place = Place::new(vec![Reply::Parts(vec![Part::Status(status)])]);
    place.run(&["-p", "Hello"]).failed(1, &["400 no ]0;title here"]);
}
